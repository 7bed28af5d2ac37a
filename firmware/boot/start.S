# SPDX-License-Identifier: Apache-2.0
# Entry of the control processor: global pointer, stack, .data from its image, .bss, then Main. The settings are behind
# the first instruction, at processor_settings_offset of spec/processor.toml.
  .section .text.start
  .globl _start, _settings
_start:
  .option push
  .option norvc
  j Start
  .word 0
  .option pop
_settings:  # empty: whoever loads the image writes them
  .space 16
Start:
  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, _stack_end
  la t0, _data_image
  la t1, _data_start
  la t2, _data_end
1:
  bgeu t1, t2, 2f
  lw t3, 0(t0)
  sw t3, 0(t1)
  addi t0, t0, 4
  addi t1, t1, 4
  j 1b
2:
  la t1, _bss_start
  la t2, _bss_end
3:
  bgeu t1, t2, 4f
  sw zero, 0(t1)
  addi t1, t1, 4
  j 3b
4:
  call Main
  ebreak  # not reached
