// Selects a decomposable model by BIC with Chordalysis, which is cloned and built apart; chordalysis.py runs this.
// The argument is a CSV file of codes: its first line holds the number of values of each column. Each line of standard
// input is a run; a JSON line answers it with its seconds, the processor's, and the edges. Data are laid out within it.

import core.explorer.ChordalysisModellingBIC;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import loader.LoadArrays;

public class Select {
  public static void main(String[] arguments) throws Exception {
    int[][] lines = Files.readAllLines(Path.of(arguments[0])).stream()
        .map(line -> Arrays.stream(line.split(",")).mapToInt(Integer::parseInt).toArray()).toArray(int[][]::new);
    int[][] rows = Arrays.copyOfRange(lines, 1, lines.length);
    var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    var asked = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    while (asked.readLine() != null) {
      long wall = System.nanoTime(), worked = system.getProcessCpuTime();
      var search = new ChordalysisModellingBIC(LoadArrays.makeModelData(lines[0], rows), lines[0].length);
      search.buildModel();
      double seconds = 1e-9 * (System.nanoTime() - wall), processor = 1e-9 * (system.getProcessCpuTime() - worked);
      var edges = new StringBuilder();
      for (var edge : search.getModel().graph.edgeSet()) {
        edges.append(edges.length() == 0 ? "" : ", ").append("[").append(search.getModel().graph.getEdgeSource(edge))
            .append(", ").append(search.getModel().graph.getEdgeTarget(edge)).append("]");
      }
      System.out.println("{\"seconds\": " + seconds + ", \"processor\": " + processor + ", \"edges\": [" + edges + "]}");
    }
  }
}
