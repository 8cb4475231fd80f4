package convert

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// arrowSchemaKey names the schema of Arrow in the footer, which writers of Arrow put there
// for the types that Parquet does not have.
const arrowSchemaKey = "ARROW:schema"

// refine gives the columns the types of Arrow that Parquet stores as others.
func (d *parquetDecoder) refine() {
	text := d.file.MetaData().KeyValueMetadata().FindValue(arrowSchemaKey)
	if text == nil {
		return
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*text, "="))
	if err == nil {
		err = guard(func() error { // since offsets may lead anywhere
			if binary.LittleEndian.Uint32(data) == 1<<32-1 { // in front of the length
				data = data[4:]
			}
			schema := flat{b: data[4:]}.table().field(2).table() // of the message
			d.root.refineFields(schema.field(1))
			return nil
		})
	}
	if err != nil {
		d.told.add(fmt.Sprintf("the schema of Arrow in its footer cannot be read, and types that Parquet does not have are unknown: %v", err))
	}
}

// notes implements noting.
func (d *parquetDecoder) notes() *notes { return &d.told }

// The types of Arrow that are looked for, by their numbers in Schema.fbs.
const (
	arrowTimestamp     = 10
	arrowFixedSizeList = 16
	arrowDuration      = 18
)

// refineFields gives the children of n the types that a vector of Fields has. Parquet has
// them in the same order.
func (n *parquetNode) refineFields(fields flat) {
	for i, child := range n.children {
		if f := fields.item(i); string(f.field(0).text()) == child.name {
			child.refine(f)
		}
	}
}

// refine gives n the type that the Field f has, if Parquet stores it as another.
func (n *parquetNode) refine(f flat) {
	children, typ := f.field(5), f.field(3).table()
	switch n.kind {
	case parquetStruct:
		n.refineFields(children)
		return
	case parquetMap: // of entries
		for i, child := range n.children {
			child.refine(children.item(0).field(5).item(i))
		}
		return
	case parquetList:
		n.children[0].refine(children.item(0))
	}
	switch id := f.field(2).byte(); {
	case id == arrowFixedSizeList && n.kind == parquetList:
		n.length = int(typ.field(0).int32())
	case id == arrowDuration && n.kind == parquetValue && n.leaf.typ == TypeInt.String():
		unit := byte(1)
		if u := typ.field(0); u.b != nil {
			unit = u.byte()
		}
		n.leaf.typ = "duration[" + [...]string{"s", "ms", "us", "ns"}[unit&3] + "]"
	case id == arrowTimestamp && n.kind == parquetValue:
		zone := typ.field(1).text()
		if base, ok := strings.CutSuffix(n.leaf.typ, ",UTC]"); ok && len(zone) > 0 && utf8.Valid(zone) {
			n.leaf.typ = base + "," + string(zone) + "]"
		}
	}
}

// flat is a place in a flatbuffer: a table, or the value of a field of one. Without b
// nothing is there. Its methods panic if an offset leads out of b.
type flat struct {
	b  []byte
	at int
}

// follow returns where the offset at f leads.
func (f flat) follow() flat {
	return flat{f.b, f.at + int(binary.LittleEndian.Uint32(f.b[f.at:]))}
}

// table returns the table that the offset at f leads to.
func (f flat) table() flat {
	if f.b == nil {
		return f
	}
	return f.follow()
}

// field returns the value of field i of the table f.
func (f flat) field(i int) flat {
	if f.b == nil {
		return f
	}
	head := f.at - int(int32(binary.LittleEndian.Uint32(f.b[f.at:])))
	if size := int(binary.LittleEndian.Uint16(f.b[head:])); 4+2*i+2 > size {
		return flat{}
	}
	if off := int(binary.LittleEndian.Uint16(f.b[head+4+2*i:])); off != 0 {
		return flat{f.b, f.at + off}
	}
	return flat{}
}

// item returns table i of the vector that the offset at f leads to.
func (f flat) item(i int) flat {
	if f.b == nil {
		return f
	}
	if f = f.follow(); i >= int(f.int32()) {
		return flat{}
	}
	f.at += 4 + 4*i
	return f.follow()
}

// text returns the text that the offset at f leads to, nil for none.
func (f flat) text() []byte {
	if f.b == nil {
		return nil
	}
	f = f.follow()
	return f.b[f.at+4:][:f.int32()]
}

func (f flat) int32() int32 {
	if f.b == nil {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(f.b[f.at:]))
}

func (f flat) byte() byte {
	if f.b == nil {
		return 0
	}
	return f.b[f.at]
}
