# What every target of ours is compiled with. Third-party headers are SYSTEM, so that warnings stay ours.

find_program(CCACHE ccache)
if(CCACHE)
  # It stores what was compiled with shared headers (headers.cmake) only if it is told that their macros are no secret.
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -O3 buys nothing here but longer builds and, from g++ 12, warnings about code that is never reached.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(tenure_flags INTERFACE)
target_compile_options(tenure_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tenure_flags INTERFACE -Wthread-safety)
else()
  # g++ 12 sees overlapping copies in `"text" + std::string`, which are none (its bug 105329).
  target_compile_options(tenure_flags INTERFACE -Wno-restrict)
  if(CMAKE_UNITY_BUILD)
    # It takes a source that is compiled with others for a header, where an anonymous namespace would be a mistake, and
    # forgets that what it warns of lies in a system header if that was read before (headers.cmake).
    target_compile_options(tenure_flags INTERFACE -Wno-subobject-linkage -Wno-stringop-overread)
  endif()
endif()

if(TENURE_SANITIZE)
  # For tests that leave the breadth of their search to the other builds.
  add_compile_definitions(TENURE_SANITIZED)
  add_compile_options(-fsanitize=${TENURE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TENURE_SANITIZE})
endif()
if(TENURE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(TENURE_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
