package jobfile

import "regexp"

// informs match the fields that do not change what runs, and how: descriptions, and requests to the scheduler or the cleaner of
// another system.
var informs = map[Format]func() *regexp.Regexp{
	OpenPAI1: atFirstUse(`^(jobName|virtualCluster|outputDir|extras|killAllOnCompletedTaskNumber)\b`),
	OpenPAI2: atFirstUse(`^(name|version|contributor|description|parameters|defaults|secrets|extras\.(submitFrom|gangAllocation)|extras\.hivedScheduler\.jobPriorityClass|` +
		`prerequisites\[\d+\]\.(name|type|version|contributor|description|uri)|taskRoles\.\w+\.(prerequisites|data|output|script|taskRetryCount))\b`),
}

// kubeInforms is the same for objects of Kubernetes.
var kubeInforms = atFirstUse(`^(kind|metadata|spec\.(cleanPodPolicy|schedulingPolicy|runPolicy\.(cleanPodPolicy|ttlSecondsAfterFinished|schedulingPolicy|managedBy)|queue|priorityClassName|ttlSecondsAfterFinished|schedulerName|minAvailable|runningEstimate)|` +
	`spec\..*\.(template\.metadata|imagePullPolicy|terminationGracePeriodSeconds|ports|priorityClassName|schedulerName|requests|limits))\b`)

// options are the keys of this project's YAML that decide what a field that was left out says.
var options = []struct {
	field func() *regexp.Regexp
	key   string
}{
	{atFirstUse(`(containers\[0\]|[cC]ommands?|args)(\[0\])?$`), "entry"},
	{atFirstUse(`(image|dockerImage)$`), "image"},
	{atFirstUse(`^gpuType$|^extras\.hivedScheduler\.taskRoles`), "trainers.gpu"},
	{atFirstUse(`^(jobR|r)etryCount$`), "max-attempts"},
	{atFirstUse(`^authFile$|\.auth\b|\.imagePullSecrets\b`), "registry"},
}

// Matters reports whether the job would run differently without the field.
func (l Left) Matters() bool {
	switch l.format {
	case "":
		return false // an object beside the job
	case OpenPAI1, OpenPAI2:
		return !informs[l.format]().MatchString(l.Field)
	}
	return !kubeInforms().MatchString(l.Field)
}

// Option returns the key of Draft.Set with which a user replaces the field; "" if there is none.
func (l Left) Option() string {
	for _, o := range options {
		if o.field().MatchString(l.Field) {
			return o.key
		}
	}
	return ""
}
