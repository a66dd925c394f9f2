// nvJitLink, for cuda-core 0.7, which uses any that it finds: it links PTX by putting the texts one after another, as our
// driver's linker does. It says that it is version 12.2: numba-cuda hands over PTX up to 12.3, and then machine code.
#include <cstring>
#include <string>
#include "rehearsal.hpp"

enum { SUCCESS = 0, INVALID_INPUT = 4, PTX = 2 };
struct Handle {
    std::string ptx, error;
};
EXPORT int nvJitLinkVersion(unsigned* major, unsigned* minor) { *major = 12; *minor = 2; return SUCCESS; }
EXPORT int nvJitLinkCreate(Handle** handle, unsigned, const char**) { *handle = new Handle; return SUCCESS; }
EXPORT int nvJitLinkDestroy(Handle** handle) { delete *handle; *handle = nullptr; return SUCCESS; }
EXPORT int nvJitLinkAddData(Handle* handle, int type, const char* data, size_t size, const char* name) {
    const std::string text(data, strnlen(data, size));
    if (type == PTX || text.find(".version") != std::string::npos) { handle->ptx += text + "\n"; return SUCCESS; }
    handle->error = std::string("the rehearsal links PTX only, not ") + (name ? name : "this");
    return INVALID_INPUT;
}
EXPORT int nvJitLinkComplete(Handle*) { return SUCCESS; }
static int size_of(const std::string& text, size_t* size) { *size = text.size() + 1; return SUCCESS; }
static int copy_of(const std::string& text, char* to) { memcpy(to, text.c_str(), text.size() + 1); return SUCCESS; }
EXPORT int nvJitLinkGetLinkedCubinSize(Handle* handle, size_t* size) { return size_of(handle->ptx, size); }
EXPORT int nvJitLinkGetLinkedCubin(Handle* handle, char* to) { return copy_of(handle->ptx, to); }
EXPORT int nvJitLinkGetErrorLogSize(Handle* handle, size_t* size) { return size_of(handle->error, size); }
EXPORT int nvJitLinkGetErrorLog(Handle* handle, char* to) { return copy_of(handle->error, to); }
EXPORT int nvJitLinkGetInfoLogSize(Handle*, size_t* size) { return size_of("", size); }
EXPORT int nvJitLinkGetInfoLog(Handle*, char* to) { return copy_of("", to); }
