#pragma once

// Hides the user and password that a URL may have: SCHEME://USER:PASSWORD@HOST. For texts that repeat what was typed,
// and for command lines, which everybody on the host can read.

#include <string>

#include "base/bytes.h"

namespace tenure {

// The text with *** in place of every login. It is not known whether what was typed is a URL at all, so whatever lies
// between a colon and an @ in one word counts: rather too much than a password.
std::string mask_logins(BytesView text);

// Overwrites the login of a URL with stars, in the memory of a program's own argument, so that `ps` shows it no more.
void mask_login_in_place(char* argument);

}  // namespace tenure
