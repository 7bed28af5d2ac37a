# SPDX-License-Identifier: Apache-2.0
# Installs Vireo below a scratch prefix, and builds and runs a copy of the example against that, like an external project.
# Then the errors: another version, SystemC missing, libdeflate missing.
# usage: cmake -D BUILD=… -D EXAMPLE=… -D SCRATCH=… -D GENERATOR=… -D COMPILER=… -D LAUNCHER=… -D FLAGS=… -P package_test.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Must fail with `text` in its output.
function(refuse text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "${text}")
    message(FATAL_ERROR "did not refuse with '${text}': ${ARGN}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component vireo)
file(COPY ${EXAMPLE} DESTINATION ${SCRATCH}/examples)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
              -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix)
run(${configure} -S ${SCRATCH}/examples/vp -B ${SCRATCH}/build)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/vireo_vp)
if(NOT output MATCHES "has all of it in its memory")
  message(FATAL_ERROR "the example failed:\n${output}")
endif()
message("${output}")

# The installation is relocatable: it contains no absolute path of the prefix.
file(RENAME ${SCRATCH}/prefix ${SCRATCH}/moved)
set(project "cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES CXX)\n")
file(WRITE ${SCRATCH}/moved_test/CMakeLists.txt "${project}find_package(vireo REQUIRED)\n"
           "foreach(t model host tlm)\nif(NOT TARGET vireo::\${t})\nmessage(FATAL_ERROR \${t})\nendif()\nendforeach()\n")
run(${CMAKE_COMMAND} -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${SCRATCH}/moved -S ${SCRATCH}/moved_test -B ${SCRATCH}/moved_test/build)

file(WRITE ${SCRATCH}/version_test/CMakeLists.txt "${project}find_package(vireo 99.0 REQUIRED)\n")
refuse("requested version \"99.0\"" ${CMAKE_COMMAND} -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${SCRATCH}/moved
       -S ${SCRATCH}/version_test -B ${SCRATCH}/version_test/build)
refuse("vireo needs SystemC" ${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${SCRATCH}/nothing PKG_CONFIG_PATH=
       ${CMAKE_COMMAND} -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${SCRATCH}/moved -S ${SCRATCH}/moved_test
       -B ${SCRATCH}/nothing_build)
file(WRITE ${SCRATCH}/systemc_only/systemc.pc "Name: SystemC\nDescription: all but its library\nVersion: 2.3.4\nLibs:\nCflags:\n")
refuse("vireo needs libdeflate" ${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${SCRATCH}/systemc_only PKG_CONFIG_PATH=
       ${CMAKE_COMMAND} -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${SCRATCH}/moved -S ${SCRATCH}/moved_test
       -B ${SCRATCH}/systemc_only_build)
