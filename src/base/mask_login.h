#pragma once

// Hides the user and password of a URL: SCHEME://USER:PASSWORD@HOST. For texts that repeat what a user typed, and for
// command lines, which everybody on the host can read.

#include <string>

#include "base/bytes.h"

namespace tenure {

// The text with *** for every login. The text may not be a valid URL, so everything between a colon and an @ in one
// word counts. It is better to hide too much.
std::string mask_logins(BytesView text);

// Overwrites the login of a URL with stars in the program's own argument, so that `ps` does not show it any more.
void mask_login_in_place(char* argument);

}  // namespace tenure
