// Package datanode reads and writes blocks on DataNodes with the data transfer protocol, version 28.
//
// A Stream reads a range of one replica. It returns only bytes whose checksums it has verified. A Reader reads a file from the
// replicas of its blocks: when one fails, it continues with the next at the same byte, and when one is slow, it asks another. A
// replica with a wrong checksum is read once more before that. A Client keeps the connections, and remembers which DataNodes
// failed lately.
//
//	State of a Stream    event                          next state
//	requested            the DataNode grants            receiving
//	requested            it refuses, is lost            failed
//	receiving            a verified packet              receiving, or complete after the last byte
//	receiving            a wrong checksum               failed, and the replica is damaged if it has one there again
//	receiving            a malformed packet, lost       failed
//	complete             the empty last packet          the connection is idle, for the next Stream
//
// A Block is a block that is being written. Its bytes go to a pipeline: the DataNodes pass each packet on in a row, and its
// acknowledgement comes back with the status of each. The last DataNode compares the bytes with their checksums, which are
// those of the caller's bytes. Packets are kept until they are acknowledged, at most 4 MiB of a block, and less if many are written.
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
// Sync sends what there is in a packet that asks the DataNodes to write the block to their disks. Packets begin at the
// start of a chunk, because their checksums are of whole chunks: one that follows the middle of a chunk sends that chunk again, and
// DataNodes write only its new bytes. An append first reads the last chunk of the file for that, if it is not whole.
//
// A DataNode that is added first gets a copy of the acknowledged bytes from another one. The next Sync writes the copy to its
// disk. The NameNode gives the block a new generation, and is told of the new pipeline: this makes the replicas of the DataNodes
// that were left out invalid. After 20 s without a packet, a heartbeat is sent.
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
//	block     a block that is being written: its packets
//	pipeline  the pipeline of a block: request, packets, acknowledgements
//	repair    another pipeline for a block
//	stripe    a block group that is being written
//	sums      checksums of what is written
package datanode
