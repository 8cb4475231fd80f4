// Package broker keeps a mount alive when the server of the mount dies.
//
// A broker is a small process. It mounts, keeps the descriptor of the mount open, and starts the server as
// its child ([Run]). When the server dies, the broker starts a replacement, which continues where the old one
// was: programs that use the mount notice nothing but a pause. An upgrade of the server works in the same
// way. The server may be without any privilege: the broker does for it what needs root.
//
// The two talk over a socket in packets of JSON (message). The server asks for the mount, for backing files
// that the kernel reads itself, and for the end of the mount, and leaves open files without a name to the next server;
// the broker asks whether the server works, and tells it to make room for another one.
//
// A broker must not use its own mount. It would wait for the server that it is about to start.
package broker
