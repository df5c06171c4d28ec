# tenure_module(NAME SOURCES a.cc … LINKS other …): a static library `tenure_NAME` of one folder below src/.
function(tenure_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(tenure_${name} STATIC ${arg_SOURCES})
  target_include_directories(tenure_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(tenure_${name} PUBLIC ${arg_LINKS} PRIVATE $<BUILD_INTERFACE:tenure_flags>)
endfunction()

# tenure_test(NAME SOURCES a.cc … LINKS tenure_x … [TIMEOUT s]): a GoogleTest program, each of its tests a ctest test.
function(tenure_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LINKS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LINKS} tenure_flags GTest::gtest GTest::gtest_main Threads::Threads)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
