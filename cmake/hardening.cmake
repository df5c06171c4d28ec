# Options that make memory errors harder to exploit. tests/hardening reads them from the built files, and
# docs/benchmarks.md has their cost. Sanitizer builds find the errors themselves and do not use these options.

include(CheckCXXCompilerFlag)
include(CheckPIESupported)

option(TENURE_HARDEN "Build with stack protectors, checked library calls, control flow protection, and read-only relocations" ON)
if(TENURE_SANITIZE OR TENURE_COVERAGE)
  set(TENURE_HARDEN OFF)
endif()

# For optimised builds; without optimisation glibc cannot check and warns. Position independence is a property
# (tenure_harden below), so that a shared object can also link the library.
add_library(tenure_hardening INTERFACE)

# tenure_harden(TARGET …): for a library or a program that is installed, or a part of one.
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
# Our functions cannot be replaced by others of the same name, so they can be inlined in position-independent code, too.
check_cxx_compiler_flag(-fno-semantic-interposition TENURE_HAS_NO_INTERPOSITION)
# Jumps and returns may only reach marked places, on processors and systems that enforce it.
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
# All addresses are resolved at the start and then read-only. Only code is executable.
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack LINKER:-z,separate-code)
