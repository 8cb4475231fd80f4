package convert

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// arrowSchemaKey names the Arrow schema in the footer, which Arrow writers put there for types that
// Parquet lacks.
const arrowSchemaKey = "ARROW:schema"

// refine sets the Arrow types of columns that Parquet stores as other types.
func (d *parquetDecoder) refine() {
	text := d.file.MetaData().KeyValueMetadata().FindValue(arrowSchemaKey)
	if text == nil {
		return
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*text, "="))
	if err == nil {
		err = guard(func() error { // offsets in damaged schemas may lead anywhere
			if binary.LittleEndian.Uint32(data) == 1<<32-1 { // before the length
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

// The Arrow types used here, by their numbers in Schema.fbs.
const (
	arrowTimestamp     = 10
	arrowFixedSizeList = 16
	arrowDuration      = 18
)

// refineFields sets the types of the children of n from a vector of Fields. Parquet has them in the
// same order.
func (n *parquetNode) refineFields(fields flat) {
	for i, child := range n.children {
		if f := fields.item(i); string(f.field(0).text()) == child.name {
			child.refine(f)
		}
	}
}

// refine sets the type of n from the Field f, if Parquet stores it as another type.
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

// flat is a position in a flatbuffer: a table, or the value of a field of one. If b is nil, the
// value is absent. Its methods panic if an offset leads out of b.
type flat struct {
	b  []byte
	at int
}

// follow returns the target of the offset at f.
func (f flat) follow() flat {
	return flat{f.b, f.at + int(binary.LittleEndian.Uint32(f.b[f.at:]))}
}

// table returns the table at the target of the offset at f.
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

// item returns table i of the vector at the target of the offset at f.
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

// text returns the text at the target of the offset at f, or nil.
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
