# SPDX-License-Identifier: Apache-2.0
# Verilated classes as libraries. Verilator runs at build time, in parallel like every other step (verilate.py).
get_filename_component(VIREO_VERILATOR_ROOT ${verilator_DIR} ABSOLUTE)
set(VIREO_VERILATE ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/verilate.py)
set(VIREO_VERILATE_PY ${CMAKE_CURRENT_LIST_DIR}/verilate.py)

# Verilator's run-time library, once for all classes.
set(runtime ${VIREO_VERILATOR_ROOT}/include)
add_library(vireo_verilated STATIC ${runtime}/verilated.cpp ${runtime}/verilated_threads.cpp)
target_include_directories(vireo_verilated SYSTEM PUBLIC ${runtime} ${runtime}/vltstd)
target_compile_options(vireo_verilated PRIVATE -w -O2)
set_target_properties(vireo_verilated PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF EXPORT_COMPILE_COMMANDS OFF)
set(VIREO_VM_DEFINITIONS VM_SC=0 VM_TRACE_VCD=0 VM_COVERAGE=$<BOOL:${VIREO_COVERAGE}> VM_TRACE=$<BOOL:${VIREO_WAVEFORMS}>
                         VM_TRACE_FST=$<BOOL:${VIREO_WAVEFORMS}>)
target_compile_definitions(vireo_verilated PRIVATE ${VIREO_VM_DEFINITIONS})
if(VIREO_WAVEFORMS)
  target_sources(vireo_verilated PRIVATE ${runtime}/verilated_fst_c.cpp)
  target_link_libraries(vireo_verilated PUBLIC ZLIB::ZLIB)
endif()
if(VIREO_COVERAGE)
  target_sources(vireo_verilated PRIVATE ${runtime}/verilated_cov.cpp)
endif()

# vireo_verilated_class(TARGET PREFIX P [WHOLE] [OPTIONAL_BUILD] COMMAND … DEPENDS …): a static library of one Verilated class.
# WHOLE: a whole NIC, in several files, compiled with VIREO_WHOLE_OPTIMIZATION if that is set. OPTIONAL_BUILD: not part of `all`.
function(vireo_verilated_class target)
  cmake_parse_arguments(ARG "WHOLE;OPTIONAL_BUILD" "PREFIX" "COMMAND;DEPENDS" ${ARGN})
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${target})
  # Compiling a block's files is mostly reading the same headers: compiling them as one takes 0.4 of the time. Those of a
  # whole NIC are large and are compiled in parallel.
  set(fast ${dir}/all.cc)
  set(slow)
  if(ARG_WHOLE)
    set(fast)
    foreach(number RANGE 5)
      list(APPEND fast ${dir}/${ARG_PREFIX}.fast.${number}.cc)
    endforeach()
    foreach(number RANGE 2)
      list(APPEND slow ${dir}/${ARG_PREFIX}.slow.${number}.cc)
    endforeach()
    if(VIREO_WAVEFORMS)
      list(APPEND slow ${dir}/${ARG_PREFIX}.trace.0.cc ${dir}/${ARG_PREFIX}.trace.1.cc)
    endif()
  endif()
  set(outputs ${fast} ${slow})
  list(TRANSFORM outputs PREPEND "--output=")
  add_custom_command(OUTPUT ${fast} ${slow} COMMAND ${VIREO_VERILATE} --prefix ${ARG_PREFIX} ${outputs} -- ${ARG_COMMAND}
                     WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                     DEPENDS ${VIREO_VERILATE_PY} ${ARG_DEPENDS} COMMENT "Verilating ${target}" VERBATIM)
  add_library(${target} STATIC ${fast} ${slow})
  if(ARG_OPTIONAL_BUILD)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_include_directories(${target} SYSTEM PUBLIC ${dir})
  target_link_libraries(${target} PUBLIC vireo_verilated)
  target_compile_definitions(${target} PRIVATE ${VIREO_VM_DEFINITIONS})
  # Generated code: no warnings of ours, and no line information, which is not needed for debugging.
  target_compile_options(${target} PRIVATE -w -g0)
  if(VIREO_FUZZ)
    target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link,address,undefined)
  endif()
  # Code that runs once, and waveforms of few cycles, need no optimization.
  if(slow)
    set_property(SOURCE ${slow} APPEND_STRING PROPERTY COMPILE_FLAGS " -O0")
  endif()
  if(ARG_WHOLE)
    if(NOT VIREO_WHOLE_OPTIMIZATION)
      set(VIREO_WHOLE_OPTIMIZATION $<IF:$<CONFIG:Release>,-O3,-O2>)
    endif()
    set_property(SOURCE ${fast} APPEND_STRING PROPERTY COMPILE_FLAGS " ${VIREO_WHOLE_OPTIMIZATION}")
  else()
    target_compile_options(${target} PRIVATE -O1)  # runs for seconds; -O2 takes twice the time to compile
  endif()
  # Functions of Verilated code are large, and nothing outside calls them: link-time optimization takes long and gains
  # nothing.
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
endfunction()

# vireo_generics(OUT SIZE …): a module's parameters as -G options, from a list of sizes: see rtl/parameters.py.
function(vireo_generics out)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/rtl/parameters.py ${ARGN}
                  OUTPUT_VARIABLE generics OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" generics "${generics}")
  set(${out} ${generics} PARENT_SCOPE)
endfunction()

# vireo_verilate(TARGET PREFIX P TOP MODULE [TRACE] [OPTIONAL_BUILD] [SIZES …] [ARGS …] SOURCES …): a static library with one Verilated class of
# RTL. SIZES: the top's parameters, as for rtl/parameters.py. TRACE: the class can write waveforms, unless VIREO_WAVEFORMS is off.
function(vireo_verilate target)
  cmake_parse_arguments(ARG "TRACE;OPTIONAL_BUILD" "PREFIX;TOP" "SIZES;ARGS;SOURCES" ${ARGN})
  if(ARG_SIZES)
    vireo_generics(generics ${ARG_SIZES})
    list(APPEND ARG_ARGS ${generics})
  endif()
  set(whole)
  if(ARG_TOP STREQUAL vireo_nic OR ARG_TOP STREQUAL vireo_board)
    set(whole WHOLE)
  endif()
  if(ARG_OPTIONAL_BUILD)
    list(APPEND whole OPTIONAL_BUILD)
  endif()
  if(ARG_TRACE AND VIREO_WAVEFORMS)
    list(APPEND ARG_ARGS --trace-fst --trace-structs)
  endif()
  if(VIREO_COVERAGE)
    list(APPEND ARG_ARGS --coverage-line --coverage-user)
    if("${PROJECT_SOURCE_DIR}/rtl/vireo_nic.sv" IN_LIST ARG_SOURCES)
      list(APPEND ARG_SOURCES ${VIREO_COVERAGE_SV})
    endif()
  endif()
  vireo_verilated_class(${target} PREFIX ${ARG_PREFIX} ${whole}
    COMMAND ${VERILATOR_BIN} --cc --top-module ${ARG_TOP} -Wall -O3 --x-assign fast --x-initial fast
            --output-split 20000 ${ARG_ARGS} ${ARG_SOURCES}
    DEPENDS ${ARG_SOURCES})
endfunction()
