package job

import (
	"encoding/json"
	"fmt"
)

// snapshotKey is where the hostfile's ConfigMap keeps the runtime as it was when the job was made. It is in no pod.
const snapshotKey = "runtime.json"

// snapshot returns the runtime as text. What a platform admin changes afterwards is for new jobs: a job that is resumed or
// restarted must be the job that it was. Kubeflow Trainer has a ConfigMap of its own for it; here it costs no write.
func (r Runtime) snapshot() string {
	text, err := json.Marshal(r)
	if err != nil {
		// The runtime was JSON when it came.
		return ""
	}
	return string(text)
}

// RuntimeFrom returns the runtime that the data of a hostfile's ConfigMap keeps, or nil where it keeps none.
func RuntimeFrom(data map[string]string) (*Runtime, error) {
	text, found := data[snapshotKey]
	if !found || text == "" {
		return nil, nil
	}
	var runtime Runtime
	if err := json.Unmarshal([]byte(text), &runtime); err != nil {
		return nil, fmt.Errorf("decode the runtime that the job was made from: %w", err)
	}
	return &runtime, nil
}
