#include "exec/folder_remover.h"

#include <pthread.h>

#include <csignal>
#include <utility>

#include "guard/remove_tree.h"

namespace tenure::exec {

FolderRemover::FolderRemover(std::size_t waiting_max) : waiting_max_(waiting_max), thread_([this] { serve(); }) {
  pthread_setname_np(thread_.native_handle(), "tenure-remover");
}

FolderRemover::~FolderRemover() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

bool FolderRemover::remove(std::string path, Descriptor lock) {
  {
    const std::lock_guard own(mutex_);
    if (waiting_.size() >= waiting_max_) return false;
    waiting_.push_back({std::move(path), std::move(lock)});
  }
  wake_.notify_one();
  return true;
}

std::size_t FolderRemover::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void FolderRemover::serve() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    const Doomed doomed = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    guard::remove_tree(doomed.path, stop_);
    lock.lock();
  }
}

}  // namespace tenure::exec
