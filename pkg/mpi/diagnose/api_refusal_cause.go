package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// generatedSuffix is the end of a generated name (k8s.io/apiserver pkg/storage/names), which differs in every attempt.
var generatedSuffix = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}"`)

// combined is what the recorder of events puts before a message that it has seen many times in other words
// (k8s.io/client-go tools/record).
const combined = "(combined from similar events): "

// refusals sort the API server's words about pods that it refuses.
var refusals = []struct {
	reason mpi.Reason
	by     *regexp.Regexp
}{
	{QuotaExceeded, regexp.MustCompile(`exceeded quota|failed quota|insufficient quota`)},
	{PodSecurityDenied, regexp.MustCompile(`violates PodSecurity`)},
	{SecurityContextDenied, regexp.MustCompile(`security context constraint`)},
	{LimitRangeViolated, regexp.MustCompile(`(?:maximum|minimum) \S+ usage per (?:Container|Pod|PersistentVolumeClaim)|max limit to request ratio per`)},
	{ServiceAccountMissing, regexp.MustCompile(`(?i)error looking up service account|serviceaccount "[^"]*" not found`)},
	{PolicyDenied, regexp.MustCompile(`ValidatingAdmissionPolicy|admission webhook|denied the request|failed calling webhook`)},
	{PodInvalid, regexp.MustCompile(`is invalid: |no PriorityClass with name`)},
}

// apiRefusalCause returns why the API server refuses pods or Jobs. Of several messages the first in order of the alphabet counts,
// so that the text stays from pass to pass.
func apiRefusalCause(messages []string) *Cause {
	if len(messages) == 0 {
		return nil
	}
	words := make([]string, 0, len(messages))
	for _, message := range messages {
		message = strings.TrimPrefix(message, combined)
		words = append(words, generatedSuffix.ReplaceAllString(message, `"`))
	}
	return RefusedByAPI(slices.Min(words))
}

// RefusedByAPI is the cause of an object that the API server does not accept, in its own words.
func RefusedByAPI(words string) *Cause {
	for _, r := range refusals {
		if r.by.MatchString(words) {
			return causeWithRemedy(r.reason, describeQuotaNumbers(words)+"the API server refuses pods of the job: "+words).withEvidence(words)
		}
	}
	return causeWithRemedy(PodsRefused, "the API server refuses pods of the job: "+words).withEvidence(words)
}

// exceeded is a refusal for quota (k8s.io/apiserver pkg/admission/plugin/resourcequota).
var exceeded = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (\S+), used: (\S+), limited: (\S+)`)

// describeQuotaNumbers says of each resource what was requested and what is left, for example `requested 32 nvidia.com/gpu, 8 left
// of 16 in quota gpu: `, or nothing.
func describeQuotaNumbers(words string) string {
	match := exceeded.FindStringSubmatch(words)
	if match == nil {
		return ""
	}
	used, limited := parseQuantities(match[3]), parseQuantities(match[4])
	var parts []string
	for _, item := range strings.Split(strings.TrimSuffix(match[2], ","), ",") {
		resource, asked, _ := strings.Cut(item, "=")
		parts = append(parts, fmt.Sprintf("requested %s %s, %s in quota %s",
			asked, strings.TrimPrefix(resource, "requests."), describeRemaining(used[resource], limited[resource]), match[1]))
	}
	return strings.Join(parts, "; ") + ": "
}

func parseQuantities(list string) map[string]string {
	result := map[string]string{}
	for _, item := range strings.Split(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		result[name] = value
	}
	return result
}

// describeRemaining says what remains where both are whole numbers, and otherwise what Kubernetes says.
func describeRemaining(used, limited string) string {
	u, err1 := strconv.ParseInt(used, 10, 64)
	l, err2 := strconv.ParseInt(limited, 10, 64)
	if err1 != nil || err2 != nil {
		return fmt.Sprintf("%s used of %s", used, limited)
	}
	return fmt.Sprintf("%d left of %d", max(l-u, 0), l)
}
