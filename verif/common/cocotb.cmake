# SPDX-License-Identifier: Apache-2.0
# Tests in Python on Verilated RTL, by cocotb (in build/venv): where the judge is an outside model of what is beside the RTL.
file(GLOB VIREO_COCOTB CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/cocotbext/pcie/xilinx/us/usp_model.py)
set(VIREO_COCOTB ${VIREO_COCOTB} CACHE INTERNAL "Empty: cocotb and its models are not installed")
if(NOT VIREO_COCOTB)
  message(STATUS "cocotbext-pcie is not in build/venv: no tests by cocotb; ./vireo setup installs it")
endif()
# A file for each simulator: what it is made of and its tests, for coverage and mutants.
set(VIREO_COCOTB_TOPS ${CMAKE_BINARY_DIR}/cocotb CACHE INTERNAL "")
file(REMOVE_RECURSE ${VIREO_COCOTB_TOPS})
set(VIREO_COCOTB_RUN ${PROJECT_SOURCE_DIR}/build/venv/bin/python ${CMAKE_CURRENT_LIST_DIR}/run_cocotb.py CACHE INTERNAL "")

# An array of strings.
function(vireo_json_strings output)
  set(items ${ARGN})
  list(TRANSFORM items REPLACE "\"" "\\\\\"")
  list(TRANSFORM items PREPEND "\"")
  list(TRANSFORM items APPEND "\"")
  list(JOIN items ", " text)
  set(${output} "[${text}]" PARENT_SCOPE)
endfunction()

# vireo_cocotb_tests(TOP CONFIG PARAMETERS … SOURCES … TESTS … FOLDERS … DEPENDS …): a simulator of TOP with parameters NAME=VALUE, and
# verif.FOLDER.TEST.CONFIG for each module TEST_test.py. CONFIG: a name for the parameters. FOLDERS: of helpers, besides this one.
function(vireo_cocotb_tests top config)
  cmake_parse_arguments(ARG "" "" "PARAMETERS;SOURCES;TESTS;FOLDERS;DEPENDS" ${ARGN})
  if(NOT VIREO_COCOTB)
    return()
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME area)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${top}_${config})
  list(TRANSFORM ARG_PARAMETERS PREPEND -G)
  set(coverage)
  if(VIREO_COVERAGE)
    set(coverage --coverage-line)
  endif()
  foreach(list PARAMETERS SOURCES TESTS)
    vireo_json_strings(${list} ${ARG_${list}})
  endforeach()
  vireo_json_strings(folders ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_FOLDERS})
  file(WRITE ${VIREO_COCOTB_TOPS}/${top}_${config}.json "{\"top\": \"${top}\", \"config\": \"${config}\", \"area\": \"${area}\", \"folder\": \"${folder}\",
\"parameters\": ${PARAMETERS},
\"sources\": ${SOURCES},
\"tests\": ${TESTS}, \"folders\": ${folders}}
")
  add_custom_command(OUTPUT ${folder}/simulator
                     COMMAND ${VIREO_COCOTB_RUN} build ${folder} ${top} ${coverage} ${ARG_PARAMETERS} ${ARG_SOURCES}
                     DEPENDS ${ARG_SOURCES} ${ARG_DEPENDS} ${VIREO_COCOTB_RUN} ${VIREO_COCOTB}
                     COMMENT "Verilating ${top} (${config}) for cocotb" VERBATIM)
  add_custom_target(${top}_${config} ALL DEPENDS ${folder}/simulator)
  foreach(test IN LISTS ARG_TESTS)
    add_test(NAME verif.${area}.${test}.${config}
             COMMAND ${VIREO_COCOTB_RUN} test ${folder} ${top} ${config} ${test}_test ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_FOLDERS})
    set_tests_properties(verif.${area}.${test}.${config} PROPERTIES TIMEOUT 600)
  endforeach()
endfunction()
