import type { Phase } from '../api/types';

export type Tone = 'blue' | 'green' | 'red' | 'orange' | 'purple' | 'grey' | 'teal';
export interface PhaseWords { tone: Tone; meaning: string; usual: string; next: string }

// phases explain each phase: what it means, how long it usually takes, what to do next.
export const phases: Record<Phase, PhaseWords> = {
  Refused: { tone: 'red', meaning: 'The job ended before any pod existed: it asks for the impossible.',
    usual: 'Final.', next: 'Change what the cause names and submit again.' },
  Queued: { tone: 'purple', meaning: 'The job waits in a queue of Kueue and has no pods.',
    usual: 'Until enough quota is free; the position is in the column Queue.', next: 'Wait, or ask for less.' },
  Suspended: { tone: 'grey', meaning: 'A user holds the job back; it has no pods.',
    usual: 'Until a user resumes it.', next: 'Resume it.' },
  Preempted: { tone: 'orange', meaning: 'Kueue gave the room of the job to another one, or evicted it.',
    usual: 'Until the queue admits it again.', next: 'Wait; the job starts again by itself.' },
  Stopping: { tone: 'grey', meaning: 'The pods of the job are being removed, or their end is being examined.',
    usual: 'Seconds, at most half a minute.', next: 'Wait.' },
  Creating: { tone: 'blue', meaning: 'The objects of the job are being created.',
    usual: 'One second; longer if a runtime, a quota or a volume is missing.', next: 'Read the message if it lasts.' },
  Fetching: { tone: 'blue', meaning: 'Dataset and model are being fetched, before the job asks for its machines.',
    usual: 'Seconds to hours, by their size; nothing if an earlier job had the same.',
    next: 'Read the message if it lasts.' },
  Scheduling: { tone: 'blue', meaning: 'Pods are missing, or have no machines yet. All nodes of a gang start together.',
    usual: 'Seconds if machines are free.', next: 'Read the message if it lasts longer than a minute.' },
  Pulling: { tone: 'blue', meaning: 'All pods have machines: images are pulled, volumes mounted, containers started.',
    usual: 'Seconds to minutes, by the size of the image.', next: 'Look at Events if it lasts.' },
  Starting: { tone: 'teal', meaning: 'All pods run, and the launcher waits until all nodes answer.',
    usual: 'One or two seconds.', next: 'Look at Workers for the node that does not answer.' },
  Running: { tone: 'teal', meaning: 'All nodes answered, and the command runs.',
    usual: 'Until the program ends.', next: 'Follow its logs.' },
  Restarting: { tone: 'orange', meaning: 'A fault of the infrastructure ended the job; it is being started again.',
    usual: 'Seconds, until all pods are gone.', next: 'Wait; Overview lists the earlier attempts.' },
  Complete: { tone: 'green', meaning: 'The launcher succeeded; the job is over.', usual: 'Final.',
    next: 'Read its logs or its use.' },
  Failed: { tone: 'red', meaning: 'The job failed and is over: the reason names the fault.', usual: 'Final.',
    next: 'Open the job: cause, evidence and remedy are at the top.' },
};

export const allPhases = Object.keys(phases) as Phase[];
export const isFinal = (phase: Phase) => phase === 'Complete' || phase === 'Failed' || phase === 'Refused';

// phaseWords describes a phase, also one of a newer server.
export const phaseWords = (phase: Phase): PhaseWords =>
  phases[phase] ?? { tone: 'grey', meaning: 'A newer version knows this state.', usual: '', next: '' };
