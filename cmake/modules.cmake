# tenure_module(NAME SOURCES a.cc … LINKS other …): a static library `tenure_NAME` from one folder in src/.
function(tenure_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_library(tenure_${name} STATIC ${arg_SOURCES})
  target_include_directories(tenure_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tenure_${name} PUBLIC ${arg_LINKS} PRIVATE $<BUILD_INTERFACE:tenure_flags>)
  tenure_harden(tenure_${name})
  tenure_shares_headers(tenure_${name} tenure)
endfunction()

# tenure_test(NAME SOURCES a.cc … LINKS tenure_x … [LABELS unit …] [TIMEOUT s] [WHOLE] [ONE_THREAD]): a GoogleTest
# program.
#
# Each of its tests is a separate ctest test and process. With WHOLE the program is one ctest test, for suites with an
# expensive setup. With ONE_THREAD it starts no threads, so the ThreadSanitizer build leaves it out. LABELS say which
# runs a test belongs to ("unit" by default): the sanitizer builds run `unit` and `conformance`, the release build runs
# all. `cmake --build … --target tests_LABEL` builds the programs of a label.
function(tenure_test name)
  cmake_parse_arguments(arg "WHOLE;ONE_THREAD" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  if(arg_ONE_THREAD AND TENURE_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # Tests run for milliseconds. The tested code is in libraries, which are optimised.
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE ${arg_LINKS} tenure_flags GTest::gtest GTest::gtest_main Threads::Threads)
  tenure_shares_headers(${name} test)
  tenure_label(${name} ${arg_LABELS})
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
  else()
    # gtest_discover_tests reads its properties four times and splits lists each time (CMake 3.25).
    string(REPLACE ";" "\\\\\\\\\\\\\\\\;" labels "${arg_LABELS}")
    gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${labels}")
  endif()
endfunction()

# tenure_label(TARGET LABEL …): makes `tests_LABEL` build TARGET. For programs that ctest runs through add_test().
function(tenure_label target)
  foreach(label ${ARGN})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${target})
  endforeach()
endfunction()

# tenure_fuzz(NAME SOURCES a.cc … LINKS tenure_x …): a libFuzzer program, built by the `fuzz` preset only. Its seed
# inputs are in the folder NAME beside its sources, if there is one. `tools/fuzz` runs all of them.
function(tenure_fuzz name)
  if(NOT TENURE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LINKS} tenure_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  tenure_label(${name} fuzz)
endfunction()
