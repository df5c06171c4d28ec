# Compiler options of all our targets. Third-party headers are SYSTEM, so warnings concern our code only.

find_program(CCACHE ccache)
if(CCACHE)
  # ccache stores objects compiled with shared headers (headers.cmake) only if it may ignore differences in macros.
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# -O3 gains nothing here. It makes builds longer, and g++ 12 then warns about code that is never reached.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(tenure_flags INTERFACE)
target_compile_options(tenure_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tenure_flags INTERFACE -Wthread-safety)
else()
  # g++ 12 wrongly reports overlapping copies in `"text" + std::string` (its bug 105329).
  target_compile_options(tenure_flags INTERFACE -Wno-restrict)
  if(CMAKE_UNITY_BUILD)
    # In a unity build it takes a source for a header, where an anonymous namespace would be a mistake. And it forgets
    # that a warning is about a system header if that header was read before (headers.cmake).
    target_compile_options(tenure_flags INTERFACE -Wno-subobject-linkage -Wno-stringop-overread)
  endif()
endif()

if(TENURE_SANITIZE)
  # For tests that search broadly in the other builds only.
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
