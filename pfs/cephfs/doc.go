// Package cephfs is a pfs.FileSystem over a CephFS.
package cephfs
