// Package datanode reads and writes blocks on DataNodes with the data transfer protocol, version 28.
//
// A Stream reads a range of one replica. It returns only bytes whose checksums it has verified. A Reader reads a file from the
// replicas of its blocks. When a replica fails, it continues with the next one at the same byte; when a replica is slow, it asks
// another one. After a wrong checksum it first reads the same replica once more. A Client keeps the connections, and remembers
// which DataNodes failed recently.
//
//	State of a Stream    event                          next state
//	requested            the DataNode grants            receiving
//	requested            it refuses, is lost            failed
//	receiving            a verified packet              receiving, or complete after the last byte
//	receiving            a wrong checksum               failed; the second time, the replica is damaged
//	receiving            a malformed packet, lost       failed
//	complete             the empty last packet          the connection is idle, for the next Stream
//
// A Block is a block that is being written, through a pipeline: each DataNode forwards a packet to the next one, and the
// acknowledgement of the packet returns with the status of each DataNode. The last DataNode compares the bytes with their checksums,
// which are those of the caller's bytes. Packets are kept until they are acknowledged: at most 4 MiB of a block, less if many blocks
// are written.
//
//	State of a Block     event                                          next state
//	building             all DataNodes are connected                    streaming
//	building, new        one is not, or gives no answer                 failed: the caller asks for another block
//	building, appended   one is not, or gives no answer                 repairing without it
//	streaming            a packet is acknowledged                       streaming
//	streaming            all are acknowledged, and Close was called     closing: the empty last packet is sent
//	streaming, closing   an error status, a wrong acknowledgement,      repairing without that DataNode
//	                     a lost connection, a DataNode that does not
//	                     answer while packets are not acknowledged
//	streaming, closing   the only DataNode says that it restarts        repairing with it, for 30 s
//	closing              the last packet is acknowledged                done
//	repairing            a pipeline of those that are left, and a       streaming from the first packet that is not
//	                     new one if half of the replicas are lost,      acknowledged; done if it was closing
//	                     or one of a block that is appended or          and need not be on the disks
//	                     synced, with a new generation of the block
//	repairing            none is left                                   repairing with those of the last pipeline that
//	                                                                    the NameNode knows, without the silent ones
//	repairing            none of those is left either before a packet   failed
//	                     is acknowledged, or the NameNode refuses
//
// Sync sends the remaining bytes in a packet that asks the DataNodes to write the block to their disks. Packets begin at the
// start of a chunk, because their checksums are of whole chunks. A packet that begins in the middle of a chunk sends the whole chunk
// again, and DataNodes write only its new bytes. So an append first reads the last chunk of the file if it is not full.
//
// A DataNode that joins a pipeline first gets a copy of the acknowledged bytes from another DataNode. The next Sync writes the copy
// to its disk. The NameNode gives the block a new generation and learns the new pipeline, which invalidates the replicas of the
// DataNodes that were left out. After 20 s without a packet, a heartbeat is sent.
//
// # Files
//
//	client    connections, and the DataNodes that failed recently
//	secure    the SASL exchange and the protection of a connection
//	message   messages with their length
//	stream    a range of one replica
//	packet    packets and their checksums
//	reader    a file: the choice of replicas
//	hedge     the repetition of slow reads on another replica
//	striped   an erasure-coded file
//	blocksum  the checksum of a block, by a DataNode
//	block     a block that is being written: its packets
//	pipeline  the pipeline of a block: request, packets, acknowledgements
//	repair    another pipeline for a block
//	stripe    a block group that is being written
//	sums      checksums of written bytes
package datanode
