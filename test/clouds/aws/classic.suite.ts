import { cloudSuite } from '../suite/cloud-suite.ts';
import { classicRules } from './classic-rules.ts';
import { onMoto } from './on-moto.ts';
import { classicSuite } from './suites.ts';

cloudSuite(classicSuite(onMoto(classicRules())));
