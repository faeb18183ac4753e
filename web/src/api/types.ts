// The answers of /api/v1. An absent field is unknown, never zero.

export type Phase =
  | 'Refused' | 'Queued' | 'Suspended' | 'Preempted' | 'Stopping' | 'Creating' | 'Fetching' | 'Scheduling' | 'Pulling'
  | 'Starting' | 'Running' | 'Restarting' | 'Complete' | 'Failed';

export interface Withheld { what: string; why: string }

export interface Cause {
  reason: string; message: string; remedy?: string; lines?: string[]; class?: string; pod?: string; machine?: string;
  rank?: number; exitCode?: number; signal?: string; text: string; url?: string; source: 'condition' | 'pods';
}

export interface Metric { name: string; value: string }

export interface Condition { type: string; status: string; reason: string; message: string; lastTransitionTime: string }

export interface Attempt {
  number: number; ended: string; reason: string; message: string; pod?: string; machine?: string;
}

export interface Usage {
  machineSeconds: number; since?: string; nodePrice?: number; pods?: number; cpuPerPod?: number; memoryPeak?: number;
  memoryLimit?: number; memoryPod?: string; sentBytes?: number;
}

// Job is the JSON of `kubectl mpi get -o json` with the name of its framework.
export interface Job {
  name: string; namespace: string; uid: string; user?: string; framework?: string;
  runtime: { kind: string; name: string; framework?: string; mpi: boolean; implementation?: string; version?: string };
  executor?: string; phase: Phase; state?: string; since?: string; cause?: Cause; message?: string;
  world?: { nodes: number; slotsPerNode: number; slots: number; launcherRunsRanks?: boolean };
  usage?: Usage; pods?: { ready: number; want: number }; launcher?: Pod; nodes?: Pod[];
  queue?: { name: string; position?: number; length?: number; text?: string };
  restarts?: number; restartsAllowed?: number; attempts?: Attempt[];
  progress?: { percent?: number; remainingSeconds?: number; metrics?: Metric[]; updated?: string };
  times: { created: string; started?: string; ended?: string };
  artifacts?: {
    claim: string; folder: string; to?: string; state?: string; files?: number; bytes?: number; message?: string;
  };
  logsURL?: string; conditions?: Condition[]; unknown?: Withheld[];
}

export interface Pod {
  name: string; role: string; index: number; phase: string; ready: boolean; terminating?: boolean; restarts?: number;
  machine?: string; address?: string; slots?: { first: number; last: number }; problem?: string;
}

export type ActionName = 'suspend' | 'resume' | 'delete';
export interface Permission { allowed: boolean; missing?: string }

// JobDetail is one job. `kept`: the job is gone, and this is from the history.
export interface JobDetail {
  kept?: boolean; job: Job; actions?: Partial<Record<ActionName, Permission>>; withheld?: Withheld[];
}

export interface JobList { items: Job[]; withheld?: Withheld[] }
export interface Session { user?: string; namespace?: string; version?: string; cluster?: string; mode?: string }

// Event has its object as KIND/NAME.
export interface Event {
  at: string; count: number; object: string; type: string; reason: string; message: string;
}
export interface Configuration { submitted?: string; asRun?: string; diff?: string; withheld?: Withheld[] }
export interface PodUsage { pod: string; measured: boolean; milliCPU: number; memoryBytes: number }
export interface Curve { metric: string; pod: string; points: { time: number; value: number }[] }
export interface Curves extends Items<Curve> { from: string; to: string }
export interface LogLine { time?: string; pod: string; role?: string; rank?: number; text: string }
export interface Items<T> { items: T[]; withheld?: Withheld[] }
