package convert

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// parquetNode is a node of the schema, with its form in records.
type parquetNode struct {
	name string
	kind parquetKind
	// def is the definition level from which the node is not null, if it is optional; full is that
	// from which a list or map has items.
	optional  bool
	def, full int16
	rep       int16 // for a list or map: the level of its second and later items
	length    int   // length of every list, 0 if lengths vary

	leaf     *parquetLeaf   // parquetValue
	children []*parquetNode // parquetStruct: fields; parquetList: the item; parquetMap: key and value
	first    *parquetLeaf   // below the node
	leaves   []*parquetLeaf // all leaves below the node
}

type parquetKind uint8

const (
	parquetValue parquetKind = iota
	parquetStruct
	parquetList
	parquetMap
)

// parquetSchema makes nodes out of a schema.
type parquetSchema struct {
	leaves []*parquetLeaf
}

// newParquetSchema returns the root, and the leaves in the order of the columns.
func newParquetSchema(s *schema.Schema) (*parquetNode, []*parquetLeaf, error) {
	p := &parquetSchema{}
	root, err := p.structure(s.Root(), 0, 0)
	if err != nil {
		return nil, nil, err
	}
	if len(p.leaves) == 0 || len(p.leaves) != s.NumColumns() {
		return nil, nil, faultf(ErrUnsupported, "a file without columns")
	}
	return root, p.leaves, nil
}

// node makes the node for n, below levels def and rep.
func (p *parquetSchema) node(n schema.Node, def, rep int16) (*parquetNode, error) {
	if !utf8.ValidString(n.Name()) {
		return nil, faultf(ErrSyntax, "the name of column %q is not UTF-8", n.Name())
	}
	if n.RepetitionType() == parquet.Repetitions.Repeated { // a list without annotation
		list := &parquetNode{name: n.Name(), kind: parquetList, full: def + 1, rep: rep + 1}
		return p.add(list, n, def+1, rep+1)
	}
	optional := n.RepetitionType() == parquet.Repetitions.Optional
	if optional {
		def++
	}
	node, err := p.content(n, def, rep)
	if err != nil {
		return nil, err
	}
	node.name, node.optional, node.def = n.Name(), optional, def
	return node, nil
}

// add appends the node for the content of n to the children of node.
func (p *parquetSchema) add(node *parquetNode, n schema.Node, def, rep int16) (*parquetNode, error) {
	child, err := p.content(n, def, rep)
	if err != nil {
		return nil, err
	}
	child.name = n.Name()
	node.adopt(child)
	return node, nil
}

// adopt appends child to the children of n.
func (n *parquetNode) adopt(child *parquetNode) {
	n.children = append(n.children, child)
	n.leaves = append(n.leaves, child.leaves...)
	n.first = n.leaves[0]
}

// content makes the node for the non-null content of n.
func (p *parquetSchema) content(n schema.Node, def, rep int16) (*parquetNode, error) {
	group, ok := n.(*schema.GroupNode)
	if !ok {
		return p.value(n.(*schema.PrimitiveNode), def, rep)
	}
	switch n.LogicalType().(type) {
	case schema.ListLogicalType:
		if item, ok := repeatedChild(group); ok {
			return p.list(group, item, def, rep)
		}
	case schema.MapLogicalType:
		if pair, ok := repeatedChild(group); ok {
			return p.pairs(pair, def, rep)
		}
	}
	return p.structure(group, def, rep)
}

// repeatedChild returns the only child of n, if it is repeated.
func repeatedChild(n *schema.GroupNode) (schema.Node, bool) {
	if n.NumFields() != 1 {
		return nil, false
	}
	child := n.Field(0)
	return child, child.RepetitionType() == parquet.Repetitions.Repeated
}

func (p *parquetSchema) value(n *schema.PrimitiveNode, def, rep int16) (*parquetNode, error) {
	leaf, err := newParquetLeaf(n, def, rep)
	if err != nil {
		return nil, err
	}
	p.leaves = append(p.leaves, leaf)
	return &parquetNode{kind: parquetValue, leaf: leaf, first: leaf, leaves: []*parquetLeaf{leaf}}, nil
}

func (p *parquetSchema) structure(group *schema.GroupNode, def, rep int16) (*parquetNode, error) {
	node := &parquetNode{kind: parquetStruct}
	var names []string
	for i := range group.NumFields() {
		child, err := p.node(group.Field(i), def, rep)
		if err != nil {
			return nil, err
		}
		node.adopt(child)
		names = append(names, child.name)
	}
	if err := unlike(ErrUnsupported, "the schema has", names); err != nil {
		return nil, err
	}
	if len(node.children) == 0 {
		return nil, faultf(ErrUnsupported, "column %q is a group without columns", group.Name())
	}
	return node, nil
}

// list makes the node for a list, whose repeated child is a group around the item, or in old files
// the item. The rules are those of LogicalTypes.md.
func (p *parquetSchema) list(group *schema.GroupNode, repeated schema.Node, def, rep int16) (*parquetNode, error) {
	list := &parquetNode{kind: parquetList, full: def + 1, rep: rep + 1}
	around, ok := repeated.(*schema.GroupNode)
	if !ok || around.NumFields() != 1 || around.Name() == "array" || around.Name() == group.Name()+"_tuple" {
		return p.add(list, repeated, def+1, rep+1)
	}
	item, err := p.node(around.Field(0), def+1, rep+1)
	if err != nil {
		return nil, err
	}
	list.adopt(item)
	return list, nil
}

// pairs makes the node for a map: one whose keys are text, or else a list of pairs.
func (p *parquetSchema) pairs(repeated schema.Node, def, rep int16) (*parquetNode, error) {
	pair, err := p.content(repeated, def+1, rep+1)
	if err != nil {
		return nil, err
	}
	node := &parquetNode{kind: parquetList, full: def + 1, rep: rep + 1}
	if pair.kind == parquetStruct && len(pair.children) == 2 {
		key := pair.children[0]
		key.name, pair.children[1].name = "key", "value"
		if key.kind == parquetValue && !key.optional && key.leaf.text {
			node.kind = parquetMap
			node.adopt(key)
			node.adopt(pair.children[1])
			return node, nil
		}
	}
	node.adopt(pair)
	return node, nil
}
