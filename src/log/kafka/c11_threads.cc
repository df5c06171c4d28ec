// For builds with ThreadSanitizer only.
//
// C11's threads on top of those of POSIX. librdkafka uses the former, which ThreadSanitizer does not know: it would
// crash in a thread that it has not seen begin, and report every object that such threads pass on under their locks.
// The C library's types are the same for both.
//
// librdkafka is not compiled with ThreadSanitizer, so its atomic reference counts are not seen. Reports about memory
// that it frees after the last reference are suppressed, and reports about the order of its own locks. Races of our own
// code are reported as ever, unless one of the two stacks ends in librdkafka.

#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace {

struct Begin {
  thrd_start_t function;
  void* argument;
};

void* run(void* begin) {
  const Begin what = *static_cast<Begin*>(begin);
  delete static_cast<Begin*>(begin);
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(what.function(what.argument)));
}

int result(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

}  // namespace

extern "C" {

const char* __tsan_default_suppressions() {
  return "race:librdkafka.so\ndeadlock:librdkafka.so\nthread:librdkafka.so\n";
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto* const begin = new Begin{function, argument};
  const int error = pthread_create(thread, nullptr, run, begin);
  if (error != 0) delete begin;
  return result(error);
}

int thrd_join(thrd_t thread, int* code) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (code != nullptr) *code = static_cast<int>(reinterpret_cast<std::intptr_t>(value));
  return result(error);
}

int thrd_detach(thrd_t thread) { return result(pthread_detach(thread)); }

int mtx_init(mtx_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if ((type & mtx_recursive) != 0) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const int error = pthread_mutex_init(posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return result(error);
}

int mtx_lock(mtx_t* mutex) { return result(pthread_mutex_lock(posix(mutex))); }
int mtx_trylock(mtx_t* mutex) { return result(pthread_mutex_trylock(posix(mutex))); }
int mtx_unlock(mtx_t* mutex) { return result(pthread_mutex_unlock(posix(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(posix(mutex)); }

int cnd_init(cnd_t* condition) { return result(pthread_cond_init(posix(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return result(pthread_cond_signal(posix(condition))); }
int cnd_broadcast(cnd_t* condition) { return result(pthread_cond_broadcast(posix(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return result(pthread_cond_wait(posix(condition), posix(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  return result(pthread_cond_timedwait(posix(condition), posix(mutex), until));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(posix(condition)); }

}  // extern "C"
