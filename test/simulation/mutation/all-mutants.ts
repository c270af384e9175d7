import { engineMutants } from './engine-mutants.ts';
import type { Mutant } from './mutant.ts';
import { networkMutants } from './network-mutants.ts';
import { nodeMutants } from './node-mutants.ts';
import { reportMutants } from './report-mutants.ts';
import { trustMutants } from './trust-mutants.ts';

export const allMutants: readonly Mutant[] = [
  ...nodeMutants,
  ...reportMutants,
  ...networkMutants,
  ...trustMutants,
  ...engineMutants,
];
