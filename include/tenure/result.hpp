#pragma once

// A value, or an Error. A minimal std::expected, which C++20 does not have.
//
//     tenure::Result<tenure::Ticket> ticket = pool.dispatch("tenant-1", payload);
//     if (!ticket) return report(ticket.error());
//     ticket->wait_started(5s);
//
// Not thread-safe.

#include <concepts>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include <tenure/error.hpp>

namespace tenure {

// Thrown by value() if there is no value.
class BadResult : public std::runtime_error {
 public:
  explicit BadResult(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

namespace detail {

// Ends the process: a bug of the caller's, which would otherwise read memory that holds no error.
[[noreturn]] void error_of_success();

template <class Held>
auto& error_in(Held& error) {
  if (!error) error_of_success();
  return *error;
}

}  // namespace detail

// An error to construct a failed Result from.
class Failure {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }
  Error&& take() && { return std::move(error_); }

 private:
  Error error_;
};

template <class T>
class Result {
 public:
  using value_type = T;

  Result()
    requires std::default_initializable<T>
      : state_(std::in_place_index<0>) {}
  template <class U = T>
    requires(std::is_constructible_v<T, U> && std::is_convertible_v<U, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result> && !std::is_same_v<std::remove_cvref_t<U>, Failure>)
  // NOLINTNEXTLINE(google-explicit-constructor): so that a function returns a value, or fail(…).
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): likewise.
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure).take()) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  // The value; throws BadResult if there is none. A temporary Result returns its value by value, so that
  // `for (auto& key : pool.keys().value().keys)` is safe.
  T& value() & { return checked(*this); }
  const T& value() const& { return checked(*this); }
  T value() && { return std::move(checked(*this)); }
  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }

  // The value. There must be one.
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  // The error. There must be one: otherwise the process ends with a message.
  Error& error() & { return error_in(state_); }
  const Error& error() const& { return error_in(state_); }
  Error&& error() && { return std::move(error_in(state_)); }

 private:
  template <class Self>
  static auto& checked(Self& self) {
    if (!self.has_value()) throw BadResult(self.error());
    return *self;
  }

  template <class State>
  static auto& error_in(State& state) {
    auto* error = std::get_if<1>(&state);
    if (error == nullptr) detail::error_of_success();
    return *error;
  }

  std::variant<T, Error> state_;
};

// Success, or an Error.
template <>
class Result<void> {
 public:
  using value_type = void;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): so that a function returns {}, or fail(…).
  Result(Failure failure) : error_(std::move(failure).take()) {}

  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_) throw BadResult(*error_);
  }

  Error& error() & { return detail::error_in(error_); }
  const Error& error() const& { return detail::error_in(error_); }
  Error&& error() && { return std::move(detail::error_in(error_)); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace tenure
