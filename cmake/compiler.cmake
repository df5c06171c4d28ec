# What every target of ours is compiled with. Third-party headers are SYSTEM, so that warnings stay ours.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(tenure_flags INTERFACE)
target_compile_options(tenure_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tenure_flags INTERFACE -Wthread-safety)
endif()

if(TENURE_SANITIZE)
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
