# What makes an error in memory harder to turn into an attack. tests/hardening reads it from what was built, and
# docs/benchmarks.md says what it costs. Sanitizers find the errors themselves, and are built without it.

include(CheckCXXCompilerFlag)
include(CheckPIESupported)

option(TENURE_HARDEN "Build with stack protectors, checked library calls, control flow protection, and read-only relocations" ON)
if(TENURE_SANITIZE OR TENURE_COVERAGE)
  set(TENURE_HARDEN OFF)
endif()

# For what is optimised; where nothing is, glibc can check nothing and warns. Position independence is a property
# (tenure_harden below), so that a shared object can take the library in, too.
add_library(tenure_hardening INTERFACE)

# tenure_harden(TARGET …): of a library or a program that is installed, or a part of one.
function(tenure_harden)
  if(NOT TENURE_HARDEN)
    return()
  endif()
  foreach(target ${ARGN})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tenure_hardening>)
  endforeach()
endfunction()

if(NOT TENURE_HARDEN)
  return()
endif()

check_pie_supported(LANGUAGES CXX)
# A function of ours is not to be replaced by another of its name: so it can be inlined, also in position-independent code.
check_cxx_compiler_flag(-fno-semantic-interposition TENURE_HAS_NO_INTERPOSITION)
# Jumps and returns land only where they should, on processors and systems that enforce it.
check_cxx_compiler_flag(-fcf-protection=full TENURE_HAS_CF_PROTECTION)
check_cxx_compiler_flag(-mbranch-protection=standard TENURE_HAS_BRANCH_PROTECTION)

add_compile_options(-fstack-protector-strong)
if(TENURE_HAS_NO_INTERPOSITION)
  add_compile_options(-fno-semantic-interposition)
endif()
if(TENURE_HAS_CF_PROTECTION)
  add_compile_options(-fcf-protection=full)
elseif(TENURE_HAS_BRANCH_PROTECTION)
  add_compile_options(-mbranch-protection=standard)
endif()
target_compile_options(tenure_hardening INTERFACE
  $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE>
  $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=2>)
# All addresses are resolved at the start, and then read-only; code, and nothing else, is executable.
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack LINKER:-z,separate-code)
