// Package broker keeps a mount alive when the server of the mount dies.
//
// A broker is a small process. It mounts, keeps the descriptor of the mount open, and starts the server as
// its child ([Run]). When the server dies, the broker starts a replacement, which continues from the state of
// the old server: programs that use the mount notice only a pause. An upgrade of the server works in the same
// way. The server needs no privileges: the broker performs the operations that need root.
//
// Broker and server exchange JSON packets over a socket (message). The server requests the mount, backing
// files that the kernel reads itself, and the end of the mount. It leaves open files without a name to the
// next server. The broker checks whether the server works, and tells it to end when a new server starts.
//
// A broker must not use its own mount: it would wait for the server that it is about to start.
package broker
