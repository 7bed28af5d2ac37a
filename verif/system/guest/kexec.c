// SPDX-License-Identifier: Apache-2.0
// kexec VMLINUZ INITRAMFS COMMAND_LINE: starts a kernel from the running one, without firmware and without a reset of
// the machine: devices stay as they are. [Linux, kexec_file_load(2), reboot(2)]
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: kexec VMLINUZ INITRAMFS COMMAND_LINE\n");
    return 2;
  }
  const int kernel = open(argv[1], O_RDONLY | O_CLOEXEC), initramfs = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (kernel < 0 || initramfs < 0) {
    perror(kernel < 0 ? argv[1] : argv[2]);
    return 1;
  }
  if (syscall(SYS_kexec_file_load, kernel, initramfs, strlen(argv[3]) + 1, argv[3], 0UL) != 0) {
    perror("kexec_file_load");
    return 1;
  }
  reboot(RB_KEXEC);  // returns only if it fails
  perror("reboot");
  return 1;
}
