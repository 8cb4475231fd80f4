package main

import "testing"

// TestConvertIsAsPatientAsCp checks what runConvert asks of the clients of services.
func TestConvertIsAsPatientAsCp(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTable(t, "t.csv", 1, 0)
	d := &deps{remotes: &remotes{}}
	o := &convertOptions{outputPath: "out", namePrefix: "x", compressor: "none", payload: "raw", bad: "fail", labelFrom: "top"}
	o.lineCount = 1
	if err := runConvert(t.Context(), d, o, []string{"not there"}); err == nil {
		t.Error("converted what is not there")
	}
	if d.remotes.retries != defaultRetries {
		t.Errorf("retries = %d, want %d", d.remotes.retries, defaultRetries)
	}
}
