import type { Job, Pod } from '../api/types';

// podsOf lists the launcher and the nodes of a job.
export const podsOf = (job: Job): Pod[] => [...(job.launcher ? [job.launcher] : []), ...(job.nodes ?? [])];

// stateOf is the state of a pod in a word.
export const stateOf = (pod: Pod) => (pod.terminating ? 'Terminating' : pod.phase);

// ranksOf is the range of its ranks, or nothing for a pod without ranks.
export const ranksOf = (pod: Pod) => (pod.slots ? `${pod.slots.first}-${pod.slots.last}` : undefined);
