import { runAsProcess } from '../common/process/run-as-process.ts';
import { controllerProgram, withCommand } from './commands/program.ts';

runAsProcess(controllerProgram, withCommand(process.argv.slice(2)));
