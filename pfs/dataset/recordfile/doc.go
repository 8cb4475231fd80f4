// Package recordfile opens files of records on any file system, and streams: read ahead where
// they are behind a network, with the index that lies beside them, and held against what a
// manifest states of them.
package recordfile
