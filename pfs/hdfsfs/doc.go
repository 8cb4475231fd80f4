// Package hdfsfs is a pfs.FileSystem over HDFS.
package hdfsfs
