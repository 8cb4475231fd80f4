package jobfile

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// SARIF returns findings as a log of SARIF 2.1.0, for editors and CI. version is that of the program.
func SARIF(findings []Finding, version string) any {
	type m = map[string]any
	text := func(s string) m { return m{"text": s} }
	var rules, results []m
	for _, id := range slices.Sorted(maps.Keys(Rules)) {
		rules = append(rules, m{"id": id, "shortDescription": text(Rules[id])})
	}
	for _, f := range findings {
		artifact := m{"uri": (&url.URL{Path: filepath.ToSlash(f.File)}).String()}
		location := m{"artifactLocation": artifact}
		if f.Line > 0 {
			location["region"] = m{"startLine": f.Line, "startColumn": f.Column}
		}
		result := m{"ruleId": f.Rule, "level": string(f.Severity), "message": text(f.Text), "locations": []m{{"physicalLocation": location}}}
		if e := f.edit; e != nil {
			region := m{"startLine": e.line, "startColumn": e.column, "endColumn": e.column + utf8.RuneCountInString(e.old)}
			result["fixes"] = []m{{"description": text("write " + e.text), "artifactChanges": []m{{"artifactLocation": artifact, "replacements": []m{{"deletedRegion": region, "insertedContent": text(e.text)}}}}}}
		}
		results = append(results, result)
	}
	if results == nil {
		results = []m{}
	}
	driver := m{"name": "paddlectl", "version": version, "rules": rules}
	return m{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []m{{"tool": m{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}}}
}
