// Modules: PTX is translated, compiled and loaded; its variables get memory, and its kernels handles.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include "driver.hpp"

namespace rehearsal {

static std::set<const void*> live;               // modules, kernels and links that have not been dropped
bool is_module(const void* module) { return live.count(module); }
bool is_kernel(const void* kernel) { return live.count(kernel); }

// -- what a driver of this version and a T4 can take ---------------------------------------------------------------------
static int newest_ptx() {                        // PTX ISA, "Release Notes": the version of each CUDA, major * 10 + minor
    static const std::map<int, int> newest = {{12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85}, {12060, 85}, {12080, 87}, {12090, 88}, {13000, 90}};
    auto after = newest.upper_bound(driver_version());
    return after == newest.begin() ? 80 : (--after)->second;
}
static Result check_ptx(const std::string& text, std::string* log) {
    int major = 0, minor = 0, target = 0;
    for (size_t at = text.find(".version"); at != std::string::npos; at = text.find(".version", at + 1)) {
        sscanf(text.c_str() + at, ".version %d.%d", &major, &minor);
        if (major * 10 + minor > newest_ptx()) {
            const auto line = 1 + std::count(text.begin(), text.begin() + at, '\n');
            *log = "ptxas application ptx input, line " + std::to_string(line) + "; fatal   : Unsupported .version " + std::to_string(major) + "." + std::to_string(minor) + "; current version is '" + std::to_string(newest_ptx() / 10) + "." + std::to_string(newest_ptx() % 10) + "'";
            return UNSUPPORTED_PTX_VERSION;
        }
    }
    if (!major) return INVALID_PTX;
    const size_t at = text.find(".target");
    if (at != std::string::npos) sscanf(text.c_str() + at, ".target sm_%d", &target);
    if (target > device_attribute(75) * 10 + device_attribute(76)) {
        *log = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";
        return NO_BINARY_FOR_GPU;
    }
    return SUCCESS;
}

// -- from PTX to a library ------------------------------------------------------------------------------------------------
static std::string name_of(const std::string& text) {           // FNV-1a, twice: 128 bits
    std::ostringstream name;
    for (uint64_t hash : {0xcbf29ce484222325ull, 0x9ae16a3b2f90404full}) {
        for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
        name << std::hex << hash;
    }
    return name.str();
}
// The function that a translation lacks: no module has it. Those of the device runtime (cuda…) are not known here.
static std::string missing_function(const std::string& log) {
    const std::string before = "the function '", after = "', which is not in the module";
    const size_t begin = log.find(before), end = log.find(after);
    if (begin == std::string::npos || end == std::string::npos) return "";
    const std::string name = log.substr(begin + before.size(), end - begin - before.size());
    return name.rfind("cuda", 0) ? name : "";
}
// NOT_FOUND, with the name as the log, says that a function is missing.
static Result compiled(std::string* path, const std::string& text, std::string* log) {
    const std::string folder = setting("REHEARSAL_KERNELS", "/nonexistent");
    *path = folder + "/" + name_of(text) + ".so";
    if (!access(path->c_str(), R_OK)) return SUCCESS;
    const std::string source = path->substr(0, path->size() - 3) + ".ptx";
    std::ofstream(source) << text;
    const std::string command = "env -u LD_PRELOAD -u LD_LIBRARY_PATH PYTHONPATH='" + setting("REHEARSAL_ROOT", ".") + "' '" + setting("REHEARSAL_PYTHON", "python3") + "' -S -m rehearsal.ptx.compiling '" + source + "' '" + *path + "' 2>&1";
    FILE* output = popen(command.c_str(), "r");
    char line[4096];
    while (output && fgets(line, sizeof line, output)) *log = line;
    const int status = output ? pclose(output) : -1;
    if (!log->empty() && log->back() == '\n') log->pop_back();
    if (!status) return SUCCESS;
    const std::string missing = missing_function(*log);
    if (!missing.empty()) {
        *log = missing;
        return NOT_FOUND;
    }
    complain(*log);
    return NOT_SUPPORTED;
}
static Result text_of(std::string* text, const void* image, std::string* log) {
    const char* bytes = (const char*)image;
    const bool machine_code = !memcmp(bytes, "\x7f" "ELF", 4) || !memcmp(bytes, "\x50\xed\x55\xba", 4);
    if (machine_code) {
        *log = "this is machine code for a GPU (a cubin or fatbin); the rehearsal runs PTX only";
        complain(*log);
        return NO_BINARY_FOR_GPU;
    }
    *text = bytes;
    return text->find(".version") == std::string::npos ? INVALID_IMAGE : check_ptx(*text, log);
}

Result load_module(Module** out, const void* image, std::string* log) {
    std::string text, path;
    if (const Result error = text_of(&text, image, log)) return error;
    if (const Result error = compiled(&path, text, log)) {
        if (error != NOT_FOUND) return error;
        *log = "ptxas fatal   : Unresolved extern function '" + *log + "'";
        return INVALID_PTX;
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const Image* found = library ? (const Image*)dlsym(library, "rehearsal_image") : nullptr;
    if (!found) {
        complain(dlerror());
        return UNKNOWN;
    }
    Module* module = new Module{found, {}, {}};
    for (uint32_t i = 0; i < found->variable_count; i++) {      // each module has its own, also where the PTX is the same
        const Variable& variable = found->variables[i];
        Address64 address = 0;
        if (variable.bytes) if (const Result error = allocate(&address, variable.bytes)) return error;
        module->variables.push_back(address);
        if (!variable.bytes) continue;
        uint8_t* host = region_of(address)->host;
        if (variable.initial) memcpy(host, variable.initial, variable.bytes); else memset(host, 0, variable.bytes);
    }
    for (uint32_t i = 0; i < found->variable_count; i++) {
        const Variable& variable = found->variables[i];
        for (uint32_t k = 0; k < variable.address_count; k++) {
            const Address& each = variable.addresses[k];
            const uint64_t value = module->variables[each.variable] + each.more;
            memcpy(region_of(module->variables[i])->host + each.offset, &value, sizeof value);
        }
    }
    live.insert(module);
    *out = module;
    return SUCCESS;
}
Result unload_module(Module* module) {
    if (!is_module(module)) return INVALID_HANDLE;
    if (const Result error = finish()) return error;
    for (auto& each : module->kernels) {
        live.erase(each.second);
        delete each.second;
    }
    for (uint64_t address : module->variables) if (address) release(address);
    live.erase(module);
    delete module;                               // its code stays loaded: it is small, and other modules may share it
    return SUCCESS;
}
Result find_kernel(Kernel** out, Module* module, const char* name) {
    if (!is_module(module)) return INVALID_HANDLE;
    for (uint32_t i = 0; i < module->image->entry_count; i++) {
        const Entry& entry = module->image->entries[i];
        if (strcmp(entry.name, name)) continue;
        Kernel*& kernel = module->kernels[name];
        if (!kernel) live.insert(kernel = new Kernel{module, &entry});
        *out = kernel;
        return SUCCESS;
    }
    return NOT_FOUND;
}
Result find_variable(Address64* address, size_t* bytes, Module* module, const char* name) {
    if (!is_module(module)) return INVALID_HANDLE;
    for (uint32_t i = 0; i < module->image->variable_count; i++) {
        if (strcmp(module->image->variables[i].name, name)) continue;
        if (address) *address = module->variables[i];
        if (bytes) *bytes = module->image->variables[i].bytes;
        return SUCCESS;
    }
    return NOT_FOUND;
}

// -- options of the compiler: only its logs are written --------------------------------------------------------------------
struct Logs {
    std::vector<int> options;
    std::vector<void*> given;                    // the values at first: the length of a log is written over its room
    void** values = nullptr;                     // null where the program may have freed them
    void write(const std::string& error) const {
        enum { INFO_BUFFER = 3, INFO_BYTES, ERROR_BUFFER, ERROR_BYTES };
        fill(INFO_BUFFER, INFO_BYTES, "");
        fill(ERROR_BUFFER, ERROR_BYTES, error);
    }
    void fill(int buffer_option, int bytes_option, const std::string& text) const {
        char* buffer = nullptr;
        size_t room = 0, length = 0;
        for (size_t i = 0; i < options.size(); i++) {
            if (options[i] == buffer_option) buffer = (char*)given[i];
            if (options[i] == bytes_option) room = (uintptr_t)given[i] & 0xffffffff;
        }
        if (room) length = std::min(text.size(), room - 1);
        if (buffer && room) memcpy(buffer, text.c_str(), length), buffer[length] = 0;
        for (size_t i = 0; values && i < options.size(); i++) if (options[i] == bytes_option) values[i] = (void*)length;
    }
};
static Logs logs_of(unsigned count, const int* options, void** values) {
    return {std::vector<int>(options, options + count), std::vector<void*>(values, values + count), values};
}
static Result load_with_logs(Module** module, const void* image, Logs logs) {
    std::string log;
    const Result result = load_module(module, image, &log);
    logs.write(log);
    return result;
}

// -- the API ------------------------------------------------------------------------------------------------------------
API(cuModuleLoadData, (Module** m, const void* image)) { return load_with_logs(m, image, {}); }
API(cuModuleLoadDataEx, (Module** m, const void* image, unsigned n, const int* options, void** values)) { return load_with_logs(m, image, logs_of(n, options, values)); }
API(cuLibraryLoadData, (Module** m, const void* image, const int* options, void** values, unsigned n, const int*, void**, unsigned)) {
    return load_with_logs(m, image, logs_of(n, options, values));
}
API(cuModuleLoad, (Module** m, const char* path)) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return FILE_NOT_FOUND;
    std::stringstream text;
    text << file.rdbuf();
    return load_with_logs(m, text.str().c_str(), {});
}
API(cuModuleUnload, (Module* m)) { return unload_module(m); }
API(cuLibraryUnload, (Module* m)) { return unload_module(m); }
API(cuLibraryGetModule, (Module** out, Module* m)) { *out = m; return is_module(m) ? SUCCESS : INVALID_HANDLE; }
API(cuModuleGetFunction, (Kernel** k, Module* m, const char* name)) { return find_kernel(k, m, name); }
API(cuLibraryGetKernel, (Kernel** k, Module* m, const char* name)) { return find_kernel(k, m, name); }
API(cuLibraryGetKernelCount, (unsigned* n, Module* m)) { if (!is_module(m)) return INVALID_HANDLE; *n = m->image->entry_count; return SUCCESS; }
API(cuModuleGetGlobal, (Address64* p, size_t* n, Module* m, const char* name)) { return find_variable(p, n, m, name); }
API(cuLibraryGetGlobal, (Address64* p, size_t* n, Module* m, const char* name)) { return find_variable(p, n, m, name); }
API(cuModuleGetLoadingMode, (int* mode)) { *mode = 2; return SUCCESS; }     // lazy

// The linker takes PTX only, and what it calls a cubin is the text of all of it.
struct Link {
    Logs logs;
    std::string text, name;                      // the name is that of what was added last
};
static bool is_link(const void* link) { return live.count(link); }
static Result add_to_link(Link* link, int type, const std::string& text, const char* name) {
    enum { PTX = 1 };
    if (!is_link(link)) return INVALID_HANDLE;
    std::string log;
    Result result = type == PTX || text.find(".version") != std::string::npos ? check_ptx(text, &log) : NOT_SUPPORTED;
    if (result == NOT_SUPPORTED) complain(log = std::string("the rehearsal links PTX only, not ") + (name ? name : "this"));
    link->logs.write(log);
    if (!result) link->text += text + "\n";
    link->name = name ? name : "";
    return result;
}
API(cuLinkCreate, (unsigned n, const int* options, void** values, Link** link)) {
    live.insert(*link = new Link{logs_of(n, options, values), "", ""});
    (*link)->logs.values = nullptr;              // cuda-core 0.7 frees them when this call returns
    return SUCCESS;
}
API(cuLinkAddData, (Link* link, int type, const char* data, size_t size, const char* name, unsigned, const int*, void**)) {
    return add_to_link(link, type, std::string(data, strnlen(data, size)), name);
}
API(cuLinkAddFile, (Link* link, int type, const char* path, unsigned, const int*, void**)) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return add_to_link(link, type, text.str(), path);
}
API(cuLinkComplete, (Link* link, const void** cubin, size_t* size)) {
    if (!is_link(link)) return INVALID_HANDLE;
    std::string path, log;
    Result result = compiled(&path, link->text, &log);
    if (result == NOT_FOUND) {                   // numba/numba, issue 7159, quotes the driver's answer
        log = "error   : Undefined reference to '" + log + "' in '" + link->name + "'";
        result = UNKNOWN;
    }
    link->logs.write(log);
    *cubin = link->text.c_str();
    *size = link->text.size() + 1;
    return result;
}
API(cuLinkDestroy, (Link* link)) {
    if (!live.erase(link)) return INVALID_HANDLE;
    delete link;
    return SUCCESS;
}
ALSO(cuModuleGetGlobal, cuModuleGetGlobal_v2) ALSO(cuLinkCreate, cuLinkCreate_v2) ALSO(cuLinkAddData, cuLinkAddData_v2) ALSO(cuLinkAddFile, cuLinkAddFile_v2)

}  // namespace rehearsal
