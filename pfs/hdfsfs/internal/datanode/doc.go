// Package datanode reads blocks from DataNodes with the data transfer protocol, version 28.
//
// A Stream reads a range of one replica. It returns only bytes whose checksums it has verified. A Reader reads a file from the
// replicas of its blocks: when one fails, it continues with the next at the same byte, and when one is slow, it asks
// another. A Client keeps the connections, and remembers which DataNodes failed lately.
//
//	State of a Stream    event                          next state
//	requested            the DataNode grants            receiving
//	requested            it refuses, is lost            failed
//	receiving            a verified packet              receiving, or complete after the last byte
//	receiving            a wrong checksum               failed, and the replica is damaged
//	receiving            a malformed packet, lost       failed
//	complete             the empty last packet          the connection is idle, for the next Stream
//
// # Files
//
//	client    connections, and which DataNodes failed lately
//	secure    the SASL exchange and the protection of a connection
//	message   messages with their length
//	stream    a range of one replica
//	packet    packets and their checksums
//	reader    a file: the choice of replicas
//	hedge     when another replica is asked
//	striped   an erasure-coded file
//	blocksum  the checksum of a block, by a DataNode
package datanode
