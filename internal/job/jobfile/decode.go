package jobfile

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/paddlecloud/pfs/internal/nearest"
	"github.com/paddlecloud/pfs/internal/strictyaml"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// decode checks a node against a type and returns it as values for encoding/json, without what was wrong. tag is that
// of the field.
func (d *document) decode(n *yaml.Node, t reflect.Type, field string, tag reflect.StructTag) any {
	n, ok := d.enter(n, field)
	if !ok || strictyaml.IsNull(n) {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return d.quantity(n, field)
	case reflect.TypeFor[intstr.IntOrString]():
		if n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
			return d.number(n, reflect.TypeFor[int32](), field, tag)
		}
		return d.text(n, reflect.TypeFor[string](), field, tag)
	case reflect.TypeFor[metav1.Duration]():
		return d.duration(n, field)
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return d.time(n, field)
	}
	switch t.Kind() {
	case reflect.Struct:
		if t == reflect.TypeFor[metav1.FieldsV1]() {
			return nil
		}
		return d.object(n, t, field)
	case reflect.Map:
		return d.mapOf(n, t.Elem(), field)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return d.base64(n, field)
		}
		return d.list(n, t.Elem(), field)
	case reflect.Bool:
		return d.flag(n, field)
	case reflect.String:
		return d.text(n, t, field, tag)
	case reflect.Interface:
		return d.anything(n, field)
	}
	return d.number(n, t, field, tag)
}

// enter follows aliases and counts nodes. It reports false for a node that is too deep, or one too many.
func (d *document) enter(n *yaml.Node, field string) (*yaml.Node, bool) {
	if len(d.file.Findings) > maxFindings {
		return n, false
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch d.nodes++; {
	case d.nodes == maxNodes+1:
		d.report("aliases", Error, "", "", "the document has more than %d values, or its aliases multiply to that: write them out", maxNodes)
	case d.nodes <= maxNodes && depthOf(field) > maxDepth:
		d.report("nesting", Error, field, "", "more than %d levels of nesting", maxDepth)
		d.nodes = maxNodes + 1
	}
	return n, d.nodes <= maxNodes
}

// child returns the path of a key of a mapping.
func child(field, key string) string {
	if !plainKey().MatchString(key) {
		return field + "[" + strconv.Quote(key) + "]"
	}
	if field == "" {
		return key
	}
	return field + "." + key
}

var plainKey = atFirstUse(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// segments matches the parts of a path.
var segments = atFirstUse(`[^.\[\]]+|\[(\d+|"(\\.|[^"\\])*")\]`)

// parent returns the path of what holds a field.
func parent(field string) string {
	parts := segments().FindAllStringIndex(field, -1)
	if len(parts) < 2 {
		return ""
	}
	return field[:parts[len(parts)-2][1]]
}

func depthOf(field string) int { return strings.Count(field, ".") + strings.Count(field, "[") }

// pairs returns the pairs of a mapping, with those that "<<" merges into it.
func (d *document) pairs(n *yaml.Node, field, belongs string) []place {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, field, belongs)
		return nil
	}
	seen := map[string]int{}
	var list []place
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		switch line, twice := seen[k.Value]; {
		case k.Kind != yaml.ScalarNode:
			d.places[child(field, "?")] = place{k, v}
			d.report("type", Error, child(field, "?"), "", "%s where a key belongs", strictyaml.KindName(k))
		case k.Tag == "!!merge":
			merged = append(merged, v)
		case twice:
			d.places[child(field, k.Value)] = place{k, v}
			d.report("duplicate-key", Error, child(field, k.Value), "", "%q again, it is on line %d already: programs use one of them, and not all the same", k.Value, line)
		default:
			seen[k.Value] = k.Line
			list = append(list, place{k, v})
		}
	}
	for _, m := range merged {
		list = d.merge(list, m, seen, field)
	}
	return list
}

// merge adds the pairs of what "<<" names.
func (d *document) merge(list []place, m *yaml.Node, seen map[string]int, field string) []place {
	m, ok := d.enter(m, field+".<<")
	if !ok {
		return list
	}
	switch m.Kind {
	case yaml.SequenceNode:
		for _, e := range m.Content {
			list = d.merge(list, e, seen, field+".<<")
		}
	case yaml.MappingNode:
		for _, p := range d.pairs(m, field+".<<", "") {
			if _, has := seen[p.key.Value]; !has {
				seen[p.key.Value] = p.key.Line
				list = append(list, p)
			}
		}
	default:
		d.wrong(m, field, "a mapping")
	}
	return list
}

// wrong reports a node that is not what belongs there.
func (d *document) wrong(n *yaml.Node, field, belongs string) {
	what := strictyaml.KindName(n)
	if n.Kind == yaml.ScalarNode {
		what = scalarNames[n.Tag]
		if len(n.Value) <= 40 {
			what = fmt.Sprintf("%s (%s)", what, n.Value)
		}
	}
	if _, known := d.places[field]; !known {
		d.places[field] = place{value: n}
	}
	d.report("type", Error, field, "", "%s where %s belongs", what, belongs)
}

var scalarNames = map[string]string{
	"!!str": "a text", "!!int": "a number", "!!float": "a number", "!!bool": "true or false", "!!timestamp": "a date", "!!binary": "binary data", "!!null": "nothing",
}

// member is a field of a struct.
type member struct {
	of   reflect.Type
	typ  reflect.Type
	tag  reflect.StructTag
	name string
}

// members returns the fields of a struct by their names in JSON, with those that are inlined.
func members(t reflect.Type) map[string]member {
	all := map[string]member{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			for n, m := range members(f.Type) {
				all[n] = m
			}
		case name != "":
			all[name] = member{t, f.Type, f.Tag, name}
		}
	}
	return all
}

// keysOf returns the names of a struct's fields in JSON, in order.
func keysOf(t reflect.Type) []string {
	var keys []string
	for name := range members(t) {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

func (d *document) object(n *yaml.Node, t reflect.Type, field string) any {
	known := members(t)
	tree := map[string]any{}
	for _, p := range d.pairs(n, field, "a mapping") {
		name := p.key.Value
		path := child(field, name)
		d.places[path] = p
		m, ok := known[name]
		if !ok {
			d.unknown(t, field, path, name)
			continue
		}
		if d.format == PaddleJob && slices.Contains(pruned[m.of.Name()], name) && !(name == "restartPolicy" && strings.Contains(field, "initContainers")) {
			d.report("pruned-field", Error, path, "", "the PaddleJob of the operator does not have this field of pods: the cluster drops it without a message")
		}
		if value := d.decode(p.value, m.typ, path, m.tag); value != nil {
			tree[name] = value
		}
	}
	return tree
}

// unknown reports a field that its format does not have.
func (d *document) unknown(t reflect.Type, field, path, name string) {
	keys := keysOf(t)
	rule, why := "unknown-field", ""
	if d.kind != "" {
		why = ", and the cluster drops it without a message"
	}
	if other := otherEra[d.format][name]; other != "" {
		d.report(rule, Error, path, other, "unknown field %q, which is of another version of OpenPAI: here it is %q", name, other)
		return
	}
	near := renamed[name]
	if !slices.Contains(keys, near) {
		near = nearest.Word(name, keys)
	}
	if near == "" {
		d.report(rule, Error, path, "", "unknown field %q%s: the fields here are %s", name, why, strings.Join(keys, ", "))
		return
	}
	found := d.report(rule, Error, path, near, "unknown field %q%s: did you mean %q?", name, why, near)
	if _, taken := d.places[child(field, near)]; !taken {
		found.edit = d.replaceKey(path, near)
	}
}

// renamed are names that users take for others which are not near.
var renamed = map[string]string{"cleanPolicy": "cleanPodPolicy", "environment": "env", "cmd": "command"}

// otherEra are the fields of one version of OpenPAI by those of the other.
var otherEra = map[Format]map[string]string{
	OpenPAI1: {"instances": "taskNumber", "name": "jobName", "commands": "command", "resourcePerInstance": "cpuNumber", "jobRetryCount": "retryCount", "gpu": "gpuNumber", "cpu": "cpuNumber", "dockerImage": "image", "completion": "minFailedTaskCount", "defaults": "virtualCluster"},
	OpenPAI2: {"jobName": "name", "image": "dockerImage", "taskNumber": "instances", "cpuNumber": "resourcePerInstance.cpu", "gpuNumber": "resourcePerInstance.gpu", "memoryMB": "resourcePerInstance.memoryMB", "command": "commands", "retryCount": "jobRetryCount", "shmMB": "extraContainerOptions.shmMB",
		"portList": "resourcePerInstance.ports", "virtualCluster": "defaults.virtualCluster", "codeDir": "prerequisites", "dataDir": "prerequisites", "outputDir": "prerequisites", "minFailedTaskCount": "completion.minFailedInstances", "minSucceededTaskCount": "completion.minSucceededInstances", "jobEnvs": "parameters"},
}

// pruned are the fields of pods that the CRD of paddle-operator v0.3.5 lacks, by the types of Kubernetes 1.36.
var pruned = map[string][]string{
	"Container": {"resizePolicy", "restartPolicy", "restartPolicyRules"}, "EnvVarSource": {"fileKeyRef"}, "Lifecycle": {"stopSignal"}, "LifecycleHandler": {"sleep"},
	"PersistentVolumeClaimSpec": {"volumeAttributesClassName"}, "PodAffinityTerm": {"matchLabelKeys", "mismatchLabelKeys"},
	"PodSecurityContext":   {"appArmorProfile", "seLinuxChangePolicy", "supplementalGroupsPolicy"},
	"PodSpec":              {"hostUsers", "hostnameOverride", "resourceClaims", "resources", "schedulingGates", "schedulingGroup"},
	"ResourceRequirements": {"claims"}, "SecurityContext": {"appArmorProfile"}, "TopologySpreadConstraint": {"matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"},
	"VolumeMount": {"recursiveReadOnly"}, "VolumeProjection": {"clusterTrustBundle", "podCertificate"}, "VolumeSource": {"image"},
}

func (d *document) mapOf(n *yaml.Node, t reflect.Type, field string) any {
	tree := map[string]any{}
	for _, p := range d.pairs(n, field, "a mapping") {
		path := child(field, p.key.Value)
		d.places[path] = p
		if value := d.decode(p.value, t, path, ""); value != nil {
			tree[p.key.Value] = value
		}
	}
	return tree
}

func (d *document) list(n *yaml.Node, t reflect.Type, field string) any {
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, field, "a list")
		return nil
	}
	tree := []any{}
	for i, e := range n.Content {
		path := fmt.Sprintf("%s[%d]", field, i)
		d.places[path] = place{value: e}
		value := d.decode(e, t, path, "")
		if value == nil && d.nodes > maxNodes {
			break
		}
		tree = append(tree, value) // also what was wrong, so that indexes stay those of the file
	}
	return tree
}

// yaml11 are the texts that YAML 1.1, which kubectl reads, takes for true or false.
var yaml11 = atFirstUse(`^([yY]|yes|Yes|YES|[nN]|no|No|NO|on|On|ON|off|Off|OFF)$`)

func (d *document) text(n *yaml.Node, t reflect.Type, field string, tag reflect.StructTag) any {
	_, loose := tag.Lookup("lax")
	loose = loose || t == reflect.TypeFor[lax]()
	switch {
	case n.Kind != yaml.ScalarNode:
		d.wrong(n, field, "a text")
		return nil
	case n.Tag != "!!str" && n.Tag != "!!timestamp" && n.Tag != "!!binary" && !loose:
		found := d.report("type", Error, field, strconv.Quote(n.Value), "%s (%.40s) where a text belongs: put quotes around it", scalarNames[n.Tag], n.Value)
		found.edit = d.replaceValue(field, strconv.Quote(n.Value))
		return n.Value
	case n.Style == 0 && d.kind != "" && n.Tag == "!!str" && yaml11().MatchString(n.Value):
		found := d.report("yaml-1.1", Error, field, strconv.Quote(n.Value), "kubectl reads %s as true or false: put quotes around it", n.Value)
		found.edit = d.replaceValue(field, strconv.Quote(n.Value))
	}
	d.characters(n, field)
	if allowed := enums[t]; len(allowed) > 0 && !slices.Contains(allowed, n.Value) {
		d.enum(n, field, allowed)
		return nil
	}
	if parse := parsers[t]; parse != nil {
		if err := parse(n.Value); err != nil {
			d.report("quantity", Error, field, "", "%s: %v", field, err)
			return nil
		}
	}
	return n.Value
}

// characters reports characters that make a text read differently from what it is.
func (d *document) characters(n *yaml.Node, field string) {
	for _, r := range n.Value {
		if r == '\n' || r == '\t' || r == '\r' || unicode.IsGraphic(r) && r != '\u00a0' {
			continue
		}
		d.report("unicode", Error, field, "", "the invisible character %U makes the text read differently from what it is: remove it", r)
		return
	}
}

// enum reports a value that is not allowed.
func (d *document) enum(n *yaml.Node, field string, allowed []string) {
	near := nearest.Word(n.Value, allowed)
	for _, a := range allowed {
		if strings.EqualFold(a, n.Value) {
			near = a
		}
	}
	found := d.report("enum", Error, field, near, "%q is not one of %s", n.Value, strings.TrimPrefix(strings.Join(allowed, ", "), ", "))
	if near != "" {
		found.edit = d.replaceValue(field, near)
	}
}

func (d *document) flag(n *yaml.Node, field string) any {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" {
		return strings.EqualFold(n.Value, "true")
	}
	if n.Kind == yaml.ScalarNode && n.Style == 0 && yaml11().MatchString(n.Value) {
		return strings.ContainsAny(n.Value[:1], "yY") || strings.EqualFold(n.Value, "on")
	}
	d.wrong(n, field, "true or false")
	return nil
}

func (d *document) number(n *yaml.Node, t reflect.Type, field string, tag reflect.StructTag) any {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" && n.Tag != "!!str" {
		d.wrong(n, field, "a whole number")
		return nil
	}
	if t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32 {
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || n.Tag == "!!str" || math.IsNaN(f) || math.IsInf(f, 0) {
			d.wrong(n, field, "a number")
			return nil
		}
		return f
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 0, t.Bits())
	if n.Tag == "!!str" || n.Tag == "!!float" && err != nil && !errors.Is(err, strconv.ErrRange) {
		found := d.report("type", Error, field, "", "%s (%.40s) where a whole number belongs", scalarNames[n.Tag], n.Value)
		if err == nil && n.Style&yaml.DoubleQuotedStyle != 0 {
			found.Fix, found.edit = n.Value, &edit{line: n.Line, column: n.Column, old: strconv.Quote(n.Value), text: n.Value}
		}
		return nil
	}
	least, most := int64(math.MinInt64)>>(64-t.Bits()), int64(math.MaxInt64)>>(64-t.Bits())
	if bounds, ok := tag.Lookup("range"); ok {
		from, to, _ := strings.Cut(bounds, " ")
		least, _ = strconv.ParseInt(from, 10, 64)
		most, _ = strconv.ParseInt(to, 10, 64)
	}
	if err != nil || i < least || i > most {
		d.report("range", Error, field, "", "%s is not a number from %d to %d", n.Value, least, most)
		return nil
	}
	return json.Number(strconv.FormatInt(i, 10))
}

// badUnits are units that people write, by those of Kubernetes.
var badUnits = map[string]string{"mb": "M", "gb": "G", "tb": "T", "kb": "k", "mib": "Mi", "gib": "Gi", "tib": "Ti", "kib": "Ki", "g": "G", "K": "k", "gi": "Gi", "mi": "Mi", "ki": "Ki", "ti": "Ti", "t": "T", "b": ""}

var amount = atFirstUse(`^([0-9.]+) *([A-Za-z]*)$`)

func (d *document) quantity(n *yaml.Node, field string) any {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!bool" {
		d.wrong(n, field, "an amount such as 2, 500m or 4Gi")
		return nil
	}
	q, err := resource.ParseQuantity(n.Value)
	if err != nil || len(n.Value) > 40 {
		fix := ""
		if m := amount().FindStringSubmatch(n.Value); m != nil {
			unit, ok := badUnits[m[2]]
			if !ok {
				unit, ok = badUnits[strings.ToLower(m[2])]
			}
			if ok {
				fix = m[1] + unit
			}
		}
		found := d.report("quantity", Error, field, fix, "%.40q is not an amount: write it as 2, 500m or 4Gi", n.Value)
		if fix != "" {
			found.edit = d.replaceValue(field, fix)
		}
		return nil
	}
	if q.Sign() < 0 {
		d.report("quantity", Error, field, "", "%s is negative", n.Value)
		return nil
	}
	return n.Value
}

func (d *document) time(n *yaml.Node, field string) any {
	if n.Kind == yaml.ScalarNode {
		if _, err := time.Parse(time.RFC3339, n.Value); err == nil {
			return n.Value
		}
	}
	d.wrong(n, field, "a time such as 2006-01-02T15:04:05Z")
	return nil
}

func (d *document) duration(n *yaml.Node, field string) any {
	if n.Kind == yaml.ScalarNode {
		if _, err := time.ParseDuration(n.Value); err == nil {
			return n.Value
		}
	}
	d.wrong(n, field, "a duration such as 30s or 2h")
	return nil
}

func (d *document) base64(n *yaml.Node, field string) any {
	if n.Kind == yaml.ScalarNode {
		if _, err := base64.StdEncoding.DecodeString(n.Value); err == nil {
			return n.Value
		}
	}
	d.wrong(n, field, "data in base64")
	return nil
}

// anything returns a node whose type is free.
func (d *document) anything(n *yaml.Node, field string) any {
	switch n.Kind {
	case yaml.MappingNode:
		return d.mapOf(n, reflect.TypeFor[any](), field)
	case yaml.SequenceNode:
		return d.list(n, reflect.TypeFor[any](), field)
	}
	d.characters(n, field)
	switch n.Tag {
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
	}
	return n.Value
}
