import { runAsProcess } from '../common/process/run-as-process.ts';
import { agentProgram } from './program.ts';

runAsProcess(agentProgram);
