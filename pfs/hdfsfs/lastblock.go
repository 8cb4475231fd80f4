package hdfsfs

import (
	"reflect"
	"unsafe"

	"github.com/colinmarc/hdfs/v2"
)

// lastBlock is the block that the library is writing, and where it keeps it. When a block is
// written the library forgets it, and only then names it to the NameNode, with the request
// for the next block or for the end of the file. The NameNode may ask to come again, because
// no DataNode has told it yet about the block before. Then the library can only ask without
// naming a block, and the NameNode never takes the last one: the file would never end, or
// miss a block. So the block is put back before the library asks again.
//
// The zero value does nothing.
type lastBlock struct {
	slot  *unsafe.Pointer
	block unsafe.Pointer
}

// blockSlot is the field of the library's writer: a pointer.
var blockSlot = func() reflect.StructField {
	f, ok := reflect.TypeFor[hdfs.FileWriter]().FieldByName("blockWriter")
	if !ok || f.Type.Kind() != reflect.Pointer {
		panic("hdfsfs: this version of github.com/colinmarc/hdfs keeps its blocks elsewhere")
	}
	return f
}()

func lastBlockOf(w *hdfs.FileWriter) lastBlock {
	slot := (*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(w), blockSlot.Offset))
	return lastBlock{slot, *slot}
}

// restore puts the block back. It is closed, and not sent again.
func (b lastBlock) restore() {
	if b.slot != nil {
		*b.slot = b.block
	}
}

// drop has the library forget the block.
func (b lastBlock) drop() {
	if b.slot != nil {
		*b.slot = nil
	}
}
