# SPDX-License-Identifier: Apache-2.0
# The public targets vireo::model, vireo::host (driver and verbs) and vireo::tlm, in this tree and, installed, by
# find_package(vireo). Headers keep their paths, below include/vireo. See docs/model.md for their use.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(VIREO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/vireo)
# target name
set(exported vireo_spec spec vireo_model model vireo_firmware firmware vireo_host_driver driver vireo_host_verbs host
             vireo_sim_time sim_time vireo_sim_nic sim_nic vireo_sim_mac sim_mac vireo_model_nic model_nic
             vireo_firmware_runner firmware_runner vireo_tlm tlm)
while(exported)
  list(POP_FRONT exported target name)
  add_library(vireo::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT vireo COMPONENT vireo ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endwhile()

install(EXPORT vireo NAMESPACE vireo:: FILE vireoTargets.cmake DESTINATION ${VIREO_PACKAGE_DIR} COMPONENT vireo)
install(FILES spec/gen/vireo_config.h spec/gen/vireo_spec.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vireo/spec/gen COMPONENT vireo)
foreach(folder firmware/app firmware/hal host model platform sim/nic sim/time)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vireo/${folder} COMPONENT vireo
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT vireo)

configure_package_config_file(cmake/vireoConfig.cmake.in vireoConfig.cmake INSTALL_DESTINATION ${VIREO_PACKAGE_DIR})
# Before 1.0 a minor version may change interfaces.
write_basic_package_version_file(vireoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/vireoConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/vireoConfigVersion.cmake
        DESTINATION ${VIREO_PACKAGE_DIR} COMPONENT vireo)
