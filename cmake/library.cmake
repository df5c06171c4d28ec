# libtenure: every module in one archive, with the public headers, so that a user links one library. Installed with a
# CMake package and a pkg-config file; tests/install builds an example with both.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The modules of every build, without the table of engines, which differs between builds.
set(TENURE_MODULES proto base net assign machine log_port log_memory node boost_json guard exec pool checkout process remote)
set(modules ${TENURE_MODULES} log)
if(TENURE_SQLITE)
  list(APPEND modules log_sqlite)
endif()
if(TENURE_REDIS)
  list(APPEND modules log_redis)
endif()
add_library(tenure STATIC)
foreach(module IN LISTS modules)
  target_sources(tenure PRIVATE $<TARGET_OBJECTS:tenure_${module}>)
endforeach()
set_target_properties(tenure PROPERTIES LINKER_LANGUAGE CXX)
add_library(tenure::tenure ALIAS tenure)
target_compile_features(tenure PUBLIC cxx_std_20)
target_include_directories(tenure INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tenure INTERFACE protobuf::libprotobuf-lite Threads::Threads)
set(TENURE_PC_LIBS "-lprotobuf-lite -lpthread")
if(TENURE_SQLITE)
  target_link_libraries(tenure INTERFACE SQLite::SQLite3)
  string(APPEND TENURE_PC_LIBS " -lsqlite3")
endif()
if(TENURE_REDIS)
  target_link_libraries(tenure INTERFACE ${TENURE_HIREDIS_LIBRARY})
  string(APPEND TENURE_PC_LIBS " -lhiredis")
endif()
if(TENURE_TLS)
  target_link_libraries(tenure INTERFACE OpenSSL::SSL OpenSSL::Crypto)
  string(APPEND TENURE_PC_LIBS " -lssl -lcrypto")
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tenure)
install(TARGETS tenure EXPORT tenure-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tenure DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tenure-targets NAMESPACE tenure:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tenure-config.cmake.in ${PROJECT_BINARY_DIR}/tenure-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tenure-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tenure-config.cmake ${PROJECT_BINARY_DIR}/tenure-config-version.cmake
  DESTINATION ${package})
# Relative paths, so that an installed tree can be moved.
file(RELATIVE_PATH TENURE_PC_INCLUDE /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/tenure.pc.in ${PROJECT_BINARY_DIR}/tenure.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tenure.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
