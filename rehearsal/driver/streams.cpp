// Streams and events. What a program asks for is done later, in the order in which it was asked for.
//
// A launch or a copy of a stream waits in one queue until the program waits for it (or for anything else): the latest
// moment that CUDA allows. A program that reads a result without waiting for it therefore reads the old value, always,
// and not only on a busy GPU. The order of the calls is an order that every stream and every event allows.
#include <algorithm>
#include <chrono>
#include <deque>
#include <set>
#include "driver.hpp"

namespace rehearsal {

static const size_t MOST_WAITING = 1024;         // then a call waits for the oldest, as CUDA's do
struct Work {
    const char* what;
    std::function<Result()> run;
};
static std::deque<Work> queue;
struct Stream {
    unsigned flags;
    int priority;
};
static std::set<void*> streams, events;

bool is_stream(void* stream) { return uintptr_t(stream) <= 2 || streams.count(stream); }
bool is_event(void* event) { return events.count(event); }
void* make_stream(unsigned flags, int priority) { return *streams.insert(new Stream{flags, priority}).first; }
Result drop_stream(void* stream) {
    if (!streams.erase(stream)) return INVALID_HANDLE;
    delete (Stream*)stream;
    return SUCCESS;
}

Result do_next() {
    if (context_error()) queue.clear();          // nothing runs in a context that has ended
    if (queue.empty()) return context_error();
    const Work work = std::move(queue.front());
    queue.pop_front();
    if (const Result error = work.run()) end_context(error, "");
    return context_error();
}
Result finish() {
    while (!nothing_left()) do_next();
    return context_error();
}
bool nothing_left() { return queue.empty(); }
void in_order(const char* what, std::function<Result()> work) {
    queue.push_back({what, std::move(work)});
    while (queue.size() > MOST_WAITING) do_next();
}

static double now() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}
Event* make_event(unsigned flags) {
    Event* event = new Event{flags};
    events.insert(event);
    return event;
}
Result drop_event(void* event) {
    if (!events.count(event)) return INVALID_HANDLE;
    in_order("event", [=] { delete (Event*)event; return SUCCESS; });   // not before the records that name it
    events.erase(event);
    return SUCCESS;
}
Result record(Event* event, void* stream) {
    if (!is_event(event) || !is_stream(stream)) return INVALID_HANDLE;
    event->waiting++;
    event->recorded = true;
    in_order("event", [=] { event->milliseconds = now(); event->waiting--; return SUCCESS; });
    return SUCCESS;
}
Result query(Event* event) {
    if (!is_event(event)) return INVALID_HANDLE;
    if (!event->waiting) return context_error();
    const Result error = do_next();              // so that a program that asks again and again sees it happen
    return error ? error : NOT_READY;
}
Result elapsed(float* milliseconds, Event* from, Event* to) {
    const unsigned no_timing = 2;
    if (!is_event(from) || !is_event(to) || !from->recorded || !to->recorded || ((from->flags | to->flags) & no_timing)) return INVALID_HANDLE;
    if (from->waiting || to->waiting) return NOT_READY;
    *milliseconds = float(to->milliseconds - from->milliseconds);
    return SUCCESS;
}
static Result query_stream(void* stream) {
    if (!is_stream(stream)) return INVALID_HANDLE;
    if (nothing_left()) return context_error();
    const Result error = do_next();
    return error ? error : NOT_READY;
}

// -- the API ------------------------------------------------------------------------------------------------------------
API(cuStreamCreate, (void** s, unsigned flags)) { *s = make_stream(flags, 0); return SUCCESS; }
API(cuStreamCreateWithPriority, (void** s, unsigned flags, int priority)) { *s = make_stream(flags, std::max(-5, std::min(priority, 0))); return SUCCESS; }
API(cuStreamDestroy, (void* s)) { return drop_stream(s); }
API(cuStreamSynchronize, (void* s)) { return is_stream(s) ? finish() : INVALID_HANDLE; }
API(cuStreamQuery, (void* s)) { return query_stream(s); }
API(cuStreamWaitEvent, (void* s, void* e, unsigned)) { return is_stream(s) && is_event(e) ? SUCCESS : INVALID_HANDLE; }
API(cuStreamGetCtx, (void* s, void** c)) { *c = primary_context(); return is_stream(s) ? SUCCESS : INVALID_HANDLE; }
API(cuStreamGetDevice, (void* s, int* d)) { *d = 0; return is_stream(s) ? SUCCESS : INVALID_HANDLE; }
API(cuStreamGetFlags, (void* s, unsigned* f)) { *f = streams.count(s) ? ((Stream*)s)->flags : 0; return is_stream(s) ? SUCCESS : INVALID_HANDLE; }
API(cuStreamGetPriority, (void* s, int* p)) { *p = streams.count(s) ? ((Stream*)s)->priority : 0; return is_stream(s) ? SUCCESS : INVALID_HANDLE; }
API(cuStreamGetId, (void* s, unsigned long long* id)) { *id = (unsigned long long)s; return is_stream(s) ? SUCCESS : INVALID_HANDLE; }
API(cuStreamIsCapturing, (void*, int* status)) { *status = 0; return SUCCESS; }
API(cuStreamGetCaptureInfo, (void*, int* status)) { *status = 0; return SUCCESS; }
API(cuThreadExchangeStreamCaptureMode, (int*)) { return SUCCESS; }
API(cuStreamAddCallback, (void* s, void (*call)(void*, int, void*), void* data, unsigned)) {
    if (!is_stream(s)) return INVALID_HANDLE;
    call(s, finish(), data);                     // it may be what a program waits for, so it cannot wait for the program
    return SUCCESS;
}
API(cuLaunchHostFunc, (void* s, void (*call)(void*), void* data)) {
    if (!is_stream(s)) return INVALID_HANDLE;
    if (const Result error = finish()) return error;
    call(data);
    return SUCCESS;
}
API(cuEventCreate, (void** e, unsigned flags)) { *e = make_event(flags); return SUCCESS; }
API(cuEventDestroy, (void* e)) { return drop_event(e); }
API(cuEventRecord, (Event* e, void* s)) { return record(e, s); }
API(cuEventRecordWithFlags, (Event* e, void* s, unsigned)) { return record(e, s); }
API(cuEventSynchronize, (void* e)) { return is_event(e) ? finish() : INVALID_HANDLE; }
API(cuEventQuery, (Event* e)) { return query(e); }
API(cuEventElapsedTime, (float* ms, Event* a, Event* b)) { return elapsed(ms, a, b); }
ALSO(cuStreamDestroy, cuStreamDestroy_v2) ALSO(cuEventDestroy, cuEventDestroy_v2) ALSO(cuEventElapsedTime, cuEventElapsedTime_v2) ALSO(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2)

}  // namespace rehearsal
