package jobfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/internal/nearest"
)

// checkTexts applies the rules for all texts: variables of OpenPAI, and secrets.
func (d *document) checkTexts() {
	if d.format == "" {
		return
	}
	said := map[string]bool{}
	d.eachText(func(field, text string) {
		d.variables(field, text, said)
		if d.format == OpenPAI2 && (strings.HasPrefix(field, "secrets.") || strings.HasSuffix(field, ".auth.password")) {
			return // secrets are for them; the rest has its own rule
		}
		d.secrets(field, text)
	})
}

// The variables of OpenPAI on YARN, and of OpenPAI on Kubernetes. An X stands for a role, a label or an index.
var (
	yarnVariables = atFirstUse(`^PAI_(JOB_NAME|USER_NAME|DEFAULT_FS_URI|DATA_DIR|OUTPUT_DIR|CODE_DIR|WORK_DIR|TASK_INDEX|JOB_TASK_COUNT|JOB_TASK_ROLE_(COUNT|LIST)|` +
		`CURRENT_TASK_ROLE_(NAME|TASK_COUNT|CPU_COUNT|MEM_MB|SHM_MB|GPU_COUNT|MIN_FAILED_TASK_COUNT|MIN_SUCCEEDED_TASK_COUNT|CURRENT_TASK_INDEX)|` +
		`CONTAINER_(ID|HOST_IP|HOST_PORT|HOST_PORT_LIST|SSH_PORT)|CONTAINER_HOST_\w+_PORT_LIST|TASK_ROLE_\w+_HOST_LIST|\w+_\d+_\w+_PORT)$`)
	kubeVariables = atFirstUse(`^PAI_(FRAMEWORK_NAME|JOB_NAME|USER_NAME|USERNAME|TASKS_NUM|TASK_ROLES_NUM|TASK_ROLE_(COUNT|LIST)|TASK_ROLE_TASK_COUNT_\w+|HOST_IP_\w+_\d+|PORT_LIST_\w+_\d+_\w+|RESOURCE_\w+|` +
		`MIN_(FAILED|SUCCEEDED)_TASK_COUNT_\w+|CURRENT_TASK_ROLE_NAME|CURRENT_TASK_ROLE_CURRENT_TASK_INDEX|VIRTUAL_CLUSTER|JOB_TASK_COUNT|JOB_TASK_ROLE_(COUNT|LIST))$`)
)

// atFirstUse returns a regular expression that is compiled when it is first used: these would take a part of the
// time in which every command of the program starts.
func atFirstUse(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// plainVariables are those with fixed names, for suggestions.
var plainVariables = map[Format][]string{
	OpenPAI1: {"PAI_JOB_NAME", "PAI_USER_NAME", "PAI_DEFAULT_FS_URI", "PAI_DATA_DIR", "PAI_OUTPUT_DIR", "PAI_CODE_DIR", "PAI_WORK_DIR", "PAI_TASK_INDEX", "PAI_CURRENT_TASK_ROLE_NAME", "PAI_CONTAINER_HOST_IP", "PAI_CONTAINER_SSH_PORT", "PAI_CONTAINER_ID"},
	OpenPAI2: {"PAI_JOB_NAME", "PAI_USER_NAME", "PAI_FRAMEWORK_NAME", "PAI_TASK_ROLE_LIST", "PAI_TASK_ROLE_COUNT", "PAI_CURRENT_TASK_ROLE_NAME", "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "PAI_VIRTUAL_CLUSTER"},
}

// variables reports variables of OpenPAI that are empty where the job runs, each once.
func (d *document) variables(field, text string, said map[string]bool) {
	for _, m := range paiVariable().FindAllStringSubmatch(text, -1) {
		name := m[1]
		if said[name] || strings.Contains(text, name+"=") {
			continue
		}
		said[name] = true
		why, fix := "", ""
		switch d.format {
		case OpenPAI1:
			p := d.value.(*paiJob)
			switch {
			case name == "PAI_DATA_DIR" && p.DataDir == "":
				why, fix = "the job has no dataDir", "dataDir"
			case name == "PAI_CODE_DIR" && p.CodeDir == "":
				why, fix = "the job has no codeDir", "codeDir"
			case yarnVariables().MatchString(name):
			case kubeVariables().MatchString(name):
				why = "only OpenPAI on Kubernetes sets it, and this is a job for YARN"
			default:
				why, fix = "OpenPAI does not set it", nearest.Word(name, plainVariables[d.format])
			}
		case OpenPAI2:
			switch {
			case name == "PAI_DEFAULT_FS_URI":
				why = "OpenPAI on Kubernetes has no HDFS: use a storage of extras.storages"
			case kubeVariables().MatchString(name):
			case yarnVariables().MatchString(name):
				why = "only OpenPAI on YARN, up to 0.14, set it"
			default:
				why, fix = "OpenPAI does not set it", nearest.Word(name, plainVariables[d.format])
			}
		default:
			why = "only OpenPAI sets it"
		}
		if why != "" {
			if fix == name {
				fix = ""
			}
			hint := ""
			if strings.HasPrefix(fix, "PAI_") {
				hint = fmt.Sprintf("; did you mean $%s?", fix)
			}
			d.warn("pai-env", field, fix, "$%s is empty here: %s%s", name, why, hint)
		}
	}
}

var (
	secretName = atFirstUse(`(?i)(passw(or)?d|passphrase|secret|token|api_?key|access_?key|private_?key|credential)`)
	notSecret  = atFirstUse(`(?i)(file|path|dir|name|_id|url|endpoint|max_tokens|tokens|tokenizer.*)$`)
	secretText = []func() *regexp.Regexp{
		atFirstUse(`://[^/\s:@$<]+:[^@\s/$<]+@`),
		atFirstUse(`\bAKIA[0-9A-Z]{16}\b`),
		atFirstUse(`-----BEGIN [A-Z ]*PRIVATE KEY-----`),
		atFirstUse(`\b(gh[pousr]_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9]{32,})\b`),
		atFirstUse(`(?i)\b(--?)?[a-z_-]*(password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token)(=|\s+)["']?[^\s"'$<;&|=-][^\s"'$<;&|]{3,}`),
	}
)

// secrets reports a text that looks like a secret, or names one. The finding does not repeat it.
func (d *document) secrets(field, text string) {
	if text == "" {
		return
	}
	name := lastName(field)
	if strings.HasSuffix(field, ".value") { // of a variable in Kubernetes
		if p, ok := d.places[parent(field)+".name"]; ok {
			name = p.value.Value
		}
	}
	switch {
	case slices.ContainsFunc(secretText, func(r func() *regexp.Regexp) bool { return r().MatchString(text) }):
	case isVariable(field) && secretName().MatchString(name) && !notSecret().MatchString(name) && !strings.ContainsAny(text, "$<"):
	default:
		return
	}
	d.warn("secret", field, "", "a secret in clear text, which all who can read the job see: %s", map[bool]string{true: "put it into secrets, and write <% $secrets.NAME %>", false: "keep it in a file or in a Secret, and name that"}[d.format == OpenPAI2])
}

// isVariable reports whether a field is the value of a variable or a parameter.
func isVariable(field string) bool {
	return strings.HasSuffix(field, ".value") || strings.HasPrefix(field, "env.") || strings.HasPrefix(field, "jobEnvs.") || strings.HasPrefix(field, "parameters.")
}

func lastName(field string) string { return field[strings.LastIndex(field, ".")+1:] }
