// Package hdfsproto has the messages that a client exchanges with NameNodes and DataNodes.
package hdfsproto

//go:generate protoc -I.. --go_out=.. --go_opt=paths=source_relative hdfsproto/rpc.proto hdfsproto/namenode.proto hdfsproto/namespace.proto hdfsproto/write.proto hdfsproto/datatransfer.proto
